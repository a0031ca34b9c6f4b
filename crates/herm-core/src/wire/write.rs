//! Writing one message: compact, on one line, without the line feed (S-1).

use std::borrow::Cow;

use serde_json::value::RawValue;

/// JSON text without blanks between its tokens, tokens untouched; borrowed when there are none.
#[must_use]
pub fn compact(json: &str) -> Cow<'_, str> {
    let _ = json;
    unimplemented!()
}

/// `{"jsonrpc":"2.0","id":ID,"method":METHOD,"params":PARAMS}`; `params` is a JSON object.
#[must_use]
pub fn request(id: u64, method: &str, params: &str) -> String {
    let _ = (id, method, params);
    unimplemented!()
}

/// A notification; `params` is a JSON object or absent.
#[must_use]
pub fn notification(method: &str, params: Option<&str>) -> String {
    let _ = (method, params);
    unimplemented!()
}

/// Our answer to a request of the peer's; `id` goes back token for token.
#[must_use]
pub fn ok_reply(id: &RawValue, result: &str) -> String {
    let _ = (id, result);
    unimplemented!()
}

/// Our refusal of a request of the peer's.
#[must_use]
pub fn error_reply(id: &RawValue, code: i64, message: &str) -> String {
    let _ = (id, code, message);
    unimplemented!()
}
