//! Mirrored headers of 2026-07-28: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*` (H-20 to H-23).

use serde_json::value::RawValue;

/// One input property that is mirrored into a header.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeaderParam {
    /// The part after `Mcp-Param-`.
    pub header: String,
    /// The keys that lead to the value in the arguments.
    pub path: Vec<String>,
}

/// The `x-mcp-header` annotations of an input schema.
///
/// # Errors
/// Why the annotation is invalid (H-23); such a tool is left out on HTTP.
pub fn annotations(input_schema: &RawValue) -> Result<Vec<HeaderParam>, String> {
    let _ = input_schema;
    unimplemented!()
}

/// `Mcp-Method` and, for the methods that have one, `Mcp-Name`: name, value (encoded).
#[must_use]
pub fn standard(method: &str, name: Option<&str>) -> Vec<(String, String)> {
    let _ = (method, name);
    unimplemented!()
}

/// `Mcp-Param-*` for these arguments: name, value (encoded).
///
/// # Errors
/// A value that cannot be mirrored (an integer outside the safe range, a wrong type).
pub fn mirrored(
    params: &[HeaderParam],
    arguments: &RawValue,
) -> Result<Vec<(String, String)>, String> {
    let _ = (params, arguments);
    unimplemented!()
}

/// A header value: as it is, or `=?base64?…?=` (H-22).
#[must_use]
pub fn encode(value: &str) -> String {
    let _ = value;
    unimplemented!()
}
