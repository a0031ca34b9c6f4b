//! What can be saved of a frame that is no JSON.

use super::message::own_id;
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
    let bytes = broken.as_bytes();
    let mut at = memchr::memmem::find(bytes, b"{")?;
    let (mut depth, mut id) = (0_usize, None);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at);
                if depth == 1 {
                    match &broken[at..end] {
                        "\"id\"" => id = value_behind(&broken[end..]).and_then(own_id).or(id),
                        "\"method\"" => return None,
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
    id
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
    use super::spread_id;

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
}
