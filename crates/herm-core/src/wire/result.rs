//! What a result asks for next (B-5, M-1 to M-3).

use super::Raw;
use serde_json::value::RawValue;

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
#[must_use]
pub fn kind(result: &RawValue) -> ResultKind {
    let _ = result;
    unimplemented!()
}
