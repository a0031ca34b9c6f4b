//! What can be saved of a frame that is no JSON.

use super::message::{Raw, own_id};
use super::write::string_end;

/// Where a message starts behind words that are no JSON. Never inside a broken object: what stands
/// there was quoted, not said. Each call looks only at bytes that no call before has looked at.
pub(super) fn behind_the_banner(broken: &str) -> Option<&str> {
    if begins_object(broken) {
        return None;
    }
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&broken.as_bytes()[from..], b"{\"") {
        from += at;
        let found = &broken[from..];
        if ["{\"jsonrpc\"", "{\"result\"", "{\"id\"", "{\"error\"", "{\"method\""]
            .iter()
            .any(|start| found.starts_with(start))
        {
            return Some(found);
        }
        from += 1;
    }
    None
}

fn begins_object(text: &str) -> bool {
    text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}

/// The request of ours that a broken reply names: the value of `id` on its top level. A broken
/// request of the peer's names none.
pub(super) fn names(broken: &str) -> Option<u64> {
    let (id, asks) = top(broken);
    id.filter(|_| !asks).and_then(own_id)
}

/// The id of a request whose start this is, as it was written: a number, or a short text. None if it is
/// no request, or its id comes later.
#[must_use]
pub fn request_id(head: &[u8]) -> Option<Raw> {
    let head = String::from_utf8_lossy(head);
    let (id, asks) = top(&head);
    let id: Raw = serde_json::from_str(id.filter(|_| asks)?).ok()?;
    let scalar =
        id.get().starts_with(['"', '-']) || id.get().starts_with(|c: char| c.is_ascii_digit());
    scalar.then_some(id)
}

/// On the top level of a broken message: the value of `id`, and whether there is a `method`.
fn top(broken: &str) -> (Option<&str>, bool) {
    let bytes = broken.as_bytes();
    let Some(mut at) = memchr::memmem::find(bytes, b"{") else { return (None, false) };
    let (mut depth, mut id, mut asks) = (0_usize, None, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at);
                if depth == 1 {
                    match &broken[at..end] {
                        "\"id\"" => id = value_behind(&broken[end..]).or(id),
                        "\"method\"" => asks = true,
                        _ => {}
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (id, asks)
}

/// The request of ours that a line names which is nothing but a member `id`: a reply that its
/// server wrote over several lines.
pub(super) fn spread_id(line: &str) -> Option<u64> {
    let member = line.strip_prefix("\"id\"")?.trim_end();
    let value = member.trim_start().strip_prefix(':')?;
    own_id(value.trim().trim_end_matches(',').trim_end())
}

/// The scalar token behind a key, if a colon says that it is one and if it is whole.
fn value_behind(rest: &str) -> Option<&str> {
    /// No id of ours is longer, and a search without an end would cost its square.
    const LONGEST: usize = 32;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let delimiter = |c: char| matches!(c, ',' | '}' | ']') || c.is_ascii_whitespace();
    let (end, _) = value.char_indices().take(LONGEST).find(|&(_, c)| delimiter(c))?;
    Some(&value[..end])
}

#[cfg(test)]
mod tests {
    use super::{names, request_id, spread_id};

    #[test]
    fn a_reply_over_several_lines_fails_at_once() {
        for (line, expected) in [
            ("\"id\": 7,", Some(7)),
            ("\"id\":\"7\"", Some(7)),
            ("\"id\": {\"a\": 7}", None),
            ("\"id\"", None),
            ("{\"id\": 7", None),
        ] {
            assert_eq!(spread_id(line), expected, "{line}");
        }
    }

    #[test]
    fn the_start_of_a_request_tells_its_id_as_it_was_written() {
        let of = |head: &str| request_id(head.as_bytes()).map(|id| id.get().to_owned());
        assert_eq!(of(r#"{"id":77,"method":"a","params":{"id":8,"x":"xxx"#), Some("77".to_owned()));
        assert_eq!(of(r#"{"method":"a","id":"s-1","params":{"x":"#), Some("\"s-1\"".to_owned()));
        for head in [
            r#"{"method":"a","params":{"id":8,"x":"xxx"#,
            r#"{"id":7,"result":{"x":"xxx"#,
            r#"{"id":null,"method":"a","params":"#,
            r#"{"id":12345"#,
            "xxx",
        ] {
            assert_eq!(of(head), None, "{head}");
        }
        assert_eq!(names(r#"{"id":7,"result":{"x":"xxx"#), Some(7));
        assert_eq!(names(r#"{"id":7,"method":"a","params":{"x":"xxx"#), None);
    }
}
