//! Mirrored headers of 2026-07-28: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*` (H-20 to H-23).

use data_encoding::BASE64;
use serde_json::value::RawValue;

use super::json::{boolean, elements, integer, is_array, is_object, member, members, text};

const ANNOTATION: &str = "x-mcp-header";
/// Levels of a schema that are searched for annotations.
const MAX_DEPTH: usize = 64;
/// 2^53 - 1: the largest integer that every JSON reader keeps.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// One input property that is mirrored into a header.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeaderParam {
    /// The part after `Mcp-Param-`.
    pub header: String,
    /// The keys that lead to the value in the arguments.
    pub path: Vec<String>,
}

/// The `x-mcp-header` annotations of an input schema, in its order.
///
/// # Errors
/// Why the annotation is invalid (H-23); such a tool is left out on HTTP.
pub fn annotations(input_schema: &RawValue) -> Result<Vec<HeaderParam>, String> {
    let mut search = Search { path: Vec::new(), found: Vec::new() };
    search.schema(input_schema, Place::Properties, 0)?;
    Ok(search.found)
}

struct Search {
    path: Vec<String>,
    found: Vec<HeaderParam>,
}

/// How a schema is reached from the root.
#[derive(Clone, Copy)]
enum Place {
    /// By `properties` keys alone.
    Properties,
    /// In another way: an annotation there has no one value.
    Elsewhere,
}

impl Search {
    fn schema(&mut self, schema: &RawValue, place: Place, depth: usize) -> Result<(), String> {
        if !may_annotate(schema) {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(format!("the schema is nested too deeply to search it for `{ANNOTATION}`"));
        }
        for (key, value) in collected(schema) {
            match &*key {
                ANNOTATION => self.annotation(value, schema, place)?,
                "properties" => {
                    for (name, property) in collected(value) {
                        self.path.push(name);
                        self.schema(property, place, depth + 1)?;
                        self.path.pop();
                    }
                }
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies" => {
                    for (_, schema) in collected(value) {
                        self.schema(schema, Place::Elsewhere, depth + 1)?;
                    }
                }
                "items"
                | "prefixItems"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contentSchema" => {
                    self.schemas(value, depth + 1)?;
                }
                _ => {} // data (`default`, `enum`, `const`, …) or a keyword that holds no schema
            }
        }
        Ok(())
    }

    /// One schema or a list of them, where no annotation may be.
    fn schemas(&mut self, value: &RawValue, depth: usize) -> Result<(), String> {
        if is_array(value) {
            return elements(value)
                .unwrap_or_default()
                .into_iter()
                .try_for_each(|schema| self.schema(schema, Place::Elsewhere, depth));
        }
        self.schema(value, Place::Elsewhere, depth)
    }

    fn annotation(
        &mut self,
        value: &RawValue,
        schema: &RawValue,
        place: Place,
    ) -> Result<(), String> {
        let at = self.path.join(".");
        let invalid = |why: &str| Err(format!("`{ANNOTATION}` of `{at}` {why}"));
        let kind = member(schema.get(), "type").and_then(|kind| text(kind.get()));
        let Some(header) = text(value.get()) else { return invalid("is no text") };
        if matches!(place, Place::Elsewhere) || self.path.is_empty() {
            return invalid("is not on a property that `properties` alone lead to");
        }
        if header.is_empty() {
            return invalid("is empty");
        }
        if !header.bytes().all(is_token_byte) {
            return invalid("is no header name");
        }
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return invalid("is on a type other than string, integer and boolean");
        }
        if self.found.iter().any(|other| other.header.eq_ignore_ascii_case(&header)) {
            return invalid("names a header that another property has");
        }
        self.found.push(HeaderParam { header: header.into_owned(), path: self.path.clone() });
        Ok(())
    }
}

/// Cheap: most schemas have no annotation anywhere. A key may be spelled with escapes.
fn may_annotate(schema: &RawValue) -> bool {
    let bytes = schema.get().as_bytes();
    is_object(schema)
        && [ANNOTATION, "\\u"].iter().any(|s| memchr::memmem::find(bytes, s.as_bytes()).is_some())
}

fn collected(object: &RawValue) -> Vec<(String, &RawValue)> {
    let mut found = Vec::new();
    members(object.get(), &mut |key, value| found.push((key.into_owned(), value)));
    found
}

/// RFC 9110, section 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// `Mcp-Method` and, for the methods that have one, `Mcp-Name`: name, value (encoded).
#[must_use]
pub fn standard(method: &str, name: Option<&str>) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Method".to_owned(), encode(method))];
    let named = matches!(
        method,
        "tools/call"
            | "prompts/get"
            | "resources/read"
            | "tasks/get"
            | "tasks/update"
            | "tasks/cancel"
    );
    if let Some(name) = name.filter(|_| named) {
        headers.push(("Mcp-Name".to_owned(), encode(name)));
    }
    headers
}

/// `Mcp-Param-*` for these arguments: name, value (encoded). An argument that is absent or null has
/// no header (H-21).
///
/// # Errors
/// A value that cannot be mirrored (an integer outside the safe range, a wrong type).
pub fn mirrored(
    params: &[HeaderParam],
    arguments: &RawValue,
) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::new();
    for param in params {
        let found = param.path.iter().try_fold(arguments, |at, key| member(at.get(), key));
        if let Some(found) = found {
            let value = header_value(found)
                .map_err(|why| format!("the argument `{}` {why}", param.path.join(".")))?;
            headers.push((format!("Mcp-Param-{}", param.header), value));
        }
    }
    Ok(headers)
}

fn header_value(value: &RawValue) -> Result<String, &'static str> {
    if let Some(text) = text(value.get()) {
        return Ok(encode(&text));
    }
    if let Some(boolean) = boolean(value) {
        return Ok(boolean.to_string());
    }
    match integer(value.get()) {
        Some(number) if number.unsigned_abs() <= MAX_SAFE => Ok(number.to_string()),
        _ => Err("cannot be sent in a header: it takes text, an integer within 2^53 or a boolean"),
    }
}

/// A header value: as it is, or `=?base64?…?=` (H-22).
#[must_use]
pub fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && value.trim_ascii() == value
        && !looks_encoded(value);
    if plain { value.to_owned() } else { format!("=?base64?{}?=", BASE64.encode(value.as_bytes())) }
}

fn looks_encoded(value: &str) -> bool {
    value.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("=?base64?"))
        && value.ends_with("?=")
}

#[cfg(test)]
mod tests;
