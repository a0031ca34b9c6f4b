//! What a result asks for next (B-5, M-1 to M-3).

use super::Raw;
use super::json::{is_object, member, members, owned_text, text};
use serde_json::value::RawValue;

/// Requests of one round. More than this is no conversation.
const MAX_REQUESTS: usize = 256;

/// A result, sorted by its `resultType`.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResultKind {
    /// Done. Also without a `resultType`.
    Complete,
    /// The server wants answers first.
    InputRequired(InputRequired),
    /// Neither, or unreadable: why. The response is invalid.
    Invalid(String),
}

/// An `input_required` result.
#[derive(Debug, Default)]
pub struct InputRequired {
    /// Key, method, params of each request.
    pub requests: Vec<(String, String, Raw)>,
    /// `requestState`, the exact JSON token of the string as received.
    pub state: Option<Raw>,
}

/// Sorts a result. Costs one search of the bytes when no `resultType` is in them.
///
/// Whether its method may ask for input at all (M-1) is the caller's to say.
#[must_use]
pub fn kind(result: &RawValue) -> ResultKind {
    let json = result.get();
    if memchr::memmem::find(json.as_bytes(), b"resultType").is_none() {
        return ResultKind::Complete;
    }
    let Some(named) = member(json, "resultType") else { return ResultKind::Complete };
    match text(named.get()).as_deref() {
        Some("complete") => ResultKind::Complete,
        Some("input_required") => {
            input_required(json).map_or_else(ResultKind::Invalid, ResultKind::InputRequired)
        }
        Some("task") => ResultKind::Invalid(
            "the server answered with a task, which herm does not support yet".to_owned(),
        ),
        Some(other) => {
            ResultKind::Invalid(format!("the result has the unknown type `{}`", shorten(other)))
        }
        None => ResultKind::Invalid("the `resultType` of the result is no text".to_owned()),
    }
}

fn input_required(json: &str) -> Result<InputRequired, String> {
    let state = member(json, "requestState");
    if state.is_some_and(|state| !state.get().starts_with('"')) {
        return Err("`requestState` is no text".to_owned());
    }
    let requests = match member(json, "inputRequests") {
        Some(requests) if is_object(requests) => input_requests(requests)?,
        Some(_) => return Err("`inputRequests` is no object".to_owned()),
        None => Vec::new(),
    };
    Ok(InputRequired { requests, state: state.map(RawValue::to_owned) })
}

fn input_requests(requests: &RawValue) -> Result<Vec<(String, String, Raw)>, String> {
    let mut found: Vec<(String, &RawValue)> = Vec::new();
    let mut too_many = false;
    members(requests.get(), &mut |key, value| {
        if let Some(same) = found.iter_mut().find(|(k, _)| *k == key) {
            same.1 = value;
        } else if found.len() < MAX_REQUESTS {
            found.push((key.into_owned(), value));
        } else {
            too_many = true;
        }
    });
    if too_many {
        return Err(format!("`inputRequests` has more than {MAX_REQUESTS} entries"));
    }
    found
        .into_iter()
        .map(|(key, value)| match input_request(value) {
            Some((method, params)) => Ok((key, method, params)),
            None => Err(format!("`inputRequests.{}` is no request", shorten(&key))),
        })
        .collect()
}

fn input_request(value: &RawValue) -> Option<(String, Raw)> {
    let method = member(value.get(), "method").and_then(owned_text)?;
    let params = match member(value.get(), "params") {
        Some(params) => params.to_owned(),
        None => RawValue::from_string("{}".to_owned()).ok()?,
    };
    Some((method, params))
}

/// Enough of a peer's text to know it again.
fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(json: &str) -> ResultKind {
        kind(&RawValue::from_string(json.to_owned()).unwrap())
    }

    fn input(json: &str) -> InputRequired {
        match sorted(json) {
            ResultKind::InputRequired(input) => input,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_result_without_a_type_is_complete() {
        for json in [
            r#"{"content":[]}"#,
            r#"{"resultType":"complete"}"#,
            r#"{"resultType":null}"#,
            r#"{"content":[{"type":"text","text":"resultType"}]}"#,
            r#"{"structuredContent":{"resultType":"input_required"}}"#,
            "[]",
            "null",
        ] {
            assert!(matches!(sorted(json), ResultKind::Complete), "{json}");
        }
    }

    #[test]
    fn an_unknown_type_is_not_guessed_at() {
        for (json, why) in [
            (r#"{"resultType":"partial"}"#, "`partial`"),
            (r#"{"resultType":"task","taskId":"1"}"#, "task"),
            (r#"{"resultType":7}"#, "no text"),
            (r#"{"resultType":"input_required","requestState":7}"#, "requestState"),
            (r#"{"resultType":"input_required","inputRequests":[]}"#, "no object"),
            (
                r#"{"resultType":"input_required","inputRequests":{"a":{"params":{}}}}"#,
                "`inputRequests.a`",
            ),
            (r#"{"resultType":"input_required","inputRequests":{"a":5}}"#, "`inputRequests.a`"),
        ] {
            let ResultKind::Invalid(text) = sorted(json) else { panic!("{json}") };
            assert!(text.contains(why), "{text}");
        }
    }

    #[test]
    fn the_state_keeps_its_bytes_and_the_requests_their_order() {
        let asked = input(
            r#"{"requestState":"a\u00e9\/ \ud83d","resultType":"input_required","inputRequests":{
                "z":{"method":"elicitation/create","params":{ "b":1, "a":1.0 }},"a":{"method":"roots/list"}}}"#,
        );
        assert_eq!(asked.state.unwrap().get(), r#""a\u00e9\/ \ud83d""#);
        let requests: Vec<_> =
            asked.requests.iter().map(|(k, m, p)| (&**k, &**m, p.get())).collect();
        assert_eq!(
            requests,
            [("z", "elicitation/create", r#"{ "b":1, "a":1.0 }"#), ("a", "roots/list", "{}")]
        );
        let bare = input(r#"{"resultType":"input_required"}"#);
        assert!(bare.state.is_none() && bare.requests.is_empty());
    }
}
