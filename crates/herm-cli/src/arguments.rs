//! Arguments of a call: `key=value`, `key:=JSON` and a whole object, made into one JSON object.
//!
//! Pure. Values stay as they were written: numbers of any size, key order.

use std::fmt;

use herm_core::wire::Raw;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// How deep a `$ref` of a schema is followed.
const MAX_REFS: usize = 8;

/// One argument as written on the command line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: Written,
}

/// How a value was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Written {
    /// `key=value`: of the type that the schema names.
    Typed(String),
    /// `key:=JSON`.
    Json(String),
}

impl Pair {
    /// Whether only the schema says what its value is.
    pub(crate) fn needs_type(&self) -> bool {
        matches!(self.value, Written::Typed(_))
    }
}

/// An argument that cannot be used.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum BadArgument {
    #[error("`{0}` is no argument: write `key=value` or `key:=JSON`")]
    Form(String),
    #[error("the argument `{0}` is given twice")]
    Twice(String),
    #[error("`{key}:=` needs JSON: {why}")]
    Json { key: String, why: String },
    #[error("`{key}` must be {expected}, and `{found}` is none")]
    Type { key: String, expected: String, found: String },
    #[error("`--args` must be a JSON object: {0}")]
    Object(String),
}

/// Reads the words behind the name of a tool.
pub(crate) fn pairs(words: &[String]) -> Result<Vec<Pair>, BadArgument> {
    let mut pairs: Vec<Pair> = Vec::with_capacity(words.len());
    for word in words {
        let pair = pair(word)?;
        if pairs.iter().any(|other| other.key == pair.key) {
            return Err(BadArgument::Twice(pair.key));
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

fn pair(word: &str) -> Result<Pair, BadArgument> {
    let form = || BadArgument::Form(word.to_owned());
    let (key, value) = word.split_once('=').ok_or_else(form)?;
    let (key, value) = match key.strip_suffix(':') {
        Some(key) => {
            serde_json::from_str::<&RawValue>(value)
                .map_err(|e| BadArgument::Json { key: key.to_owned(), why: e.to_string() })?;
            (key, Written::Json(value.to_owned()))
        }
        None => (key, Written::Typed(value.to_owned())),
    };
    if key.is_empty() { Err(form()) } else { Ok(Pair { key: key.to_owned(), value }) }
}

/// Reads `--args`.
pub(crate) fn object(text: &str) -> Result<Object, BadArgument> {
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| BadArgument::Object(error.to_string()))
}

/// `base` with the pairs put over it, each typed by `schema` (the tool's `inputSchema`).
pub(crate) fn merge(
    mut base: Object,
    pairs: &[Pair],
    schema: Option<&RawValue>,
) -> Result<Raw, BadArgument> {
    let schema: Value = schema.and_then(|s| serde_json::from_str(s.get()).ok()).unwrap_or_default();
    for pair in pairs {
        let json = match &pair.value {
            Written::Json(json) => json.clone(),
            Written::Typed(text) => typed(&pair.key, text, &types_of(&schema, &pair.key))?,
        };
        base.set(&pair.key, raw(json)?);
    }
    raw(base.to_json())
}

/// Prompt arguments: every value is a text.
pub(crate) fn texts(pairs: &[Pair]) -> Result<Option<Raw>, BadArgument> {
    let mut object = Object::default();
    for pair in pairs {
        match &pair.value {
            Written::Typed(text) => object.set(&pair.key, raw(quote(text))?),
            Written::Json(_) => return Err(BadArgument::Form(format!("{}:=…", pair.key))),
        }
    }
    if pairs.is_empty() { Ok(None) } else { raw(object.to_json()).map(Some) }
}

/// Text that must be JSON.
pub(crate) fn raw(json: String) -> Result<Raw, BadArgument> {
    RawValue::from_string(json).map_err(|error| BadArgument::Object(error.to_string()))
}

fn quote(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// The JSON of a value written as text. No type named, or text among them: it is text.
fn typed(key: &str, text: &str, types: &[String]) -> Result<String, BadArgument> {
    if types.is_empty() || types.iter().any(|name| name == "string") {
        return Ok(quote(text));
    }
    let fits = serde_json::from_str::<Value>(text)
        .is_ok_and(|value| types.iter().any(|name| is_of_type(&value, name)));
    if fits {
        return Ok(text.to_owned());
    }
    let expected = types.iter().map(|name| named(name)).collect::<Vec<_>>().join(" or ");
    Err(BadArgument::Type { key: key.to_owned(), expected, found: text.to_owned() })
}

fn named(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => "a JSON array".to_owned(),
        "object" => "a JSON object".to_owned(),
        "integer" => "an integer".to_owned(),
        other => format!("a {other}"),
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => true, // a type that JSON Schema does not know says nothing
    }
}

/// The types that a schema permits for one member; empty if it says nothing.
fn types_of(schema: &Value, key: &str) -> Vec<String> {
    let Some(member) = schema.get("properties").and_then(|all| all.get(key)) else {
        return Vec::new();
    };
    let mut types = Vec::new();
    collect(schema, member, MAX_REFS, &mut types);
    types
}

fn collect(root: &Value, schema: &Value, refs_left: usize, types: &mut Vec<String>) {
    let mut add = |name: &str| {
        if !types.iter().any(|known| known == name) {
            types.push(name.to_owned());
        }
    };
    match schema.get("type") {
        Some(Value::String(name)) => return add(name),
        Some(Value::Array(names)) => {
            return names.iter().filter_map(Value::as_str).for_each(add);
        }
        _ => {} // no type here: look at what it is composed of
    }
    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    values.chain(schema.get("const")).map(type_name).for_each(add);
    let Some(refs_left) = refs_left.checked_sub(1) else { return };
    for part in ["anyOf", "oneOf", "allOf"] {
        let parts = schema.get(part).and_then(Value::as_array).into_iter().flatten();
        for part in parts.take(64) {
            collect(root, part, refs_left, types);
        }
    }
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'));
    if let Some(target) = target.and_then(|pointer| root.pointer(pointer)) {
        collect(root, target, refs_left, types);
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A JSON object whose members stay as written, in their order.
#[derive(Debug, Default)]
pub(crate) struct Object(Vec<(String, Raw)>);

impl Object {
    fn set(&mut self, key: &str, value: Raw) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    fn to_json(&self) -> String {
        let members: Vec<String> =
            self.0.iter().map(|(key, value)| format!("{}:{}", quote(key), value.get())).collect();
        format!("{{{}}}", members.join(","))
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut object = Object::default();
        while let Some((key, value)) = map.next_entry::<String, Raw>()? {
            if object.0.iter().any(|(known, _)| *known == key) {
                return Err(A::Error::custom(format_args!("the key `{key}` stands twice")));
            }
            object.0.push((key, value));
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests;
