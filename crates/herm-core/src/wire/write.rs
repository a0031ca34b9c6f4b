//! Writing one message: compact, on one line, without the line feed (S-1).

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::json::quote;

/// JSON text without blanks between its tokens, tokens untouched; borrowed when there are none.
#[must_use]
pub fn compact(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b' ' | b'\t' | b'\n' | b'\r' => {
                out.push_str(&json[copied..at]);
                at += 1;
                copied = at;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[copied..]);
    Cow::Owned(out)
}

/// The index behind the string that starts at `start`, or the end of the bytes.
pub(super) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(next) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += next;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// What a line may hold. Blanks stay as they are, so that what came on a line leaves byte-equal.
fn one_line(json: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
        Some(_) => compact(json),
        None => Cow::Borrowed(json),
    }
}

/// `{"jsonrpc":"2.0","id":ID,"method":METHOD,"params":PARAMS}`; `params` is a JSON object.
#[must_use]
pub fn request(id: u64, method: &str, params: &str) -> String {
    let (method, params) = (quote(method), one_line(params));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
}

/// A notification; `params` is a JSON object or absent.
#[must_use]
pub fn notification(method: &str, params: Option<&str>) -> String {
    let method = quote(method);
    match params.map(one_line) {
        Some(params) => format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
}

/// Our answer to a request of the peer's; `id` goes back token for token.
#[must_use]
pub fn ok_reply(id: &RawValue, result: &str) -> String {
    let (id, result) = (one_line(id.get()), one_line(result));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The same for a result that is large: it is written into the answer itself, which has room for `size`
/// bytes of it. What is written must be on one line.
#[must_use]
pub fn ok_reply_with(id: &RawValue, size: usize, result: impl FnOnce(&mut String)) -> String {
    let id = one_line(id.get());
    let mut reply = String::with_capacity(size + id.len() + 64);
    reply.push_str(r#"{"jsonrpc":"2.0","id":"#);
    reply.push_str(&id);
    reply.push_str(r#","result":"#);
    result(&mut reply);
    reply.push('}');
    debug_assert!(!reply.contains(['\n', '\r']), "an answer is one line");
    reply
}

/// Our refusal of a request of the peer's.
#[must_use]
pub fn error_reply(id: &RawValue, code: i64, message: &str) -> String {
    let (id, message) = (one_line(id.get()), quote(message));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_go_and_tokens_stay() {
        let loose = "{ \"a b\" :\t[ 1.50 , 1e400,\r\n\"x \\\" y\\\\\" ] ,\n\"n\":null }\n";
        let tight = r#"{"a b":[1.50,1e400,"x \" y\\"],"n":null}"#;
        assert_eq!(compact(loose), tight);
        assert!(matches!(compact(tight), Cow::Borrowed(_)));
        for broken in [r#"""#, r#""\"#, r#""a\"#, " ", ""] {
            let _ = compact(broken).len(); // no panic
        }
    }

    #[test]
    fn a_message_is_one_line_even_if_its_parts_were_not() {
        let id = RawValue::from_string(r#""7""#.to_owned()).unwrap();
        assert_eq!(
            ok_reply(&id, "{\n  \"a\": \"\\n\"\r\n}"),
            r#"{"jsonrpc":"2.0","id":"7","result":{"a":"\n"}}"#
        );
        assert_eq!(
            error_reply(&id, -32601, "no \"x\"\n"),
            r#"{"jsonrpc":"2.0","id":"7","error":{"code":-32601,"message":"no \"x\"\n"}}"#
        );
        assert_eq!(
            request(3, "tools/call", "{\n}"),
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#
        );
        assert_eq!(notification("n\n", None), r#"{"jsonrpc":"2.0","method":"n\n"}"#);
        assert_eq!(notification("n", Some("{}")), r#"{"jsonrpc":"2.0","method":"n","params":{}}"#);
    }
}
