//! Judging one tool's schema, without touching its neighbours (T-4 to T-7).
//!
//! A usable schema passes as its server wrote it, byte for byte. One that lacks an object root but
//! means one gets it, spliced into the text. Anything else keeps that one tool out, with a reason.
//! Nothing here validates values, and nothing is fetched.

mod json;
mod walk;

use std::iter::once;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::wire::Raw;
use json::{Node, Object, Unread};
use walk::Document;

/// How deep the JSON of a schema may be nested.
pub const MAX_DEPTH: usize = 128;

/// The largest schema, bytes as written.
pub const MAX_BYTES: usize = 1 << 20;

/// The schema of a tool that takes no arguments, or does not say which.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// What became of an `inputSchema`.
#[derive(Clone, Debug)]
pub enum Judged {
    /// Usable: pass it verbatim.
    AsWritten,
    /// This one stands in for it: it has an object root and accepts the same objects. With the
    /// reason.
    Replaced(Raw, &'static str),
    /// The tool cannot be offered, for this reason: a lower-case fragment that may quote the
    /// server.
    Unusable(String),
}

/// Judges the `inputSchema` of one tool, absent or as written.
///
/// Linear in its size. `$ref`, `$dynamicRef` and `$recursiveRef` must resolve inside the document
/// (T-5); values under `enum`, `const`, `default` and `examples` are data. The keywords of an
/// unknown dialect (`$schema`) are not judged, but its root and its references are.
#[must_use]
pub fn judge(input_schema: Option<&RawValue>) -> Judged {
    let Some(schema) = input_schema.map(RawValue::get) else {
        return replaced(ANY_OBJECT, "no schema");
    };
    let (node, objects) = match read(schema) {
        Ok(read) => read,
        Err(reason) => return Judged::Unusable(reason),
    };
    match &node {
        Node::Null | Node::Bool(true) => replaced(ANY_OBJECT, "a schema without content"),
        Node::Object(root) if root.is_empty() => replaced(ANY_OBJECT, "a schema without content"),
        Node::Bool(false) => Judged::Unusable("the schema is `false`: it accepts nothing".into()),
        Node::Object(root) => match accepts_an_object(&node, objects) {
            Ok(()) => rooted(schema, root),
            Err(reason) => Judged::Unusable(reason),
        },
        other => Judged::Unusable(format!("the schema is {}", other.what())),
    }
}

/// Judges an `outputSchema`, whose root may be anything (T-8).
///
/// # Errors
/// Why it is no schema; the tool stays usable without it.
pub fn output(output_schema: &RawValue) -> Result<(), String> {
    let (node, objects) = read(output_schema.get())?;
    Document::read(&node, objects).map(|_| ())
}

/// A tool definition with its `inputSchema` as judged: replaced in place, or appended; every other
/// byte as written. The definition itself if there is nothing to replace.
#[must_use]
pub fn definition(definition: &RawValue, judged: &Judged) -> Raw {
    let Judged::Replaced(schema, _) = judged else { return definition.to_owned() };
    let text = definition.get();
    let Some(members) = json::spans(text) else { return definition.to_owned() };
    let places: Vec<_> = places(&members, "inputSchema").collect();
    let with = if places.is_empty() {
        let end = text.len() - 1;
        let comma = if members.is_empty() { "" } else { "," };
        let member = format!(r#"{comma}"inputSchema":{}"#, schema.get());
        splice(text, once(end..end), &member)
    } else {
        splice(text, places, schema.get())
    };
    RawValue::from_string(with).unwrap_or_else(|_| definition.to_owned())
}

fn read(schema: &str) -> Result<(Node<'_>, usize), String> {
    if schema.len() > MAX_BYTES {
        return Err(format!("the schema has {} bytes, over the {MAX_BYTES} allowed", schema.len()));
    }
    json::read(schema, MAX_DEPTH).map_err(|unread| match unread {
        Unread::Deep => format!("the schema is nested deeper than {MAX_DEPTH}"),
        Unread::Broken => "the schema is no JSON".to_owned(),
    })
}

fn accepts_an_object(node: &Node<'_>, objects: usize) -> Result<(), String> {
    let document = Document::read(node, objects)?;
    if document.accepts_an_object(node) {
        return Ok(());
    }
    Err("the root of the schema accepts no object, so there are no arguments to give".to_owned())
}

/// Gives the root an object type where it lacks one. It is known to accept objects.
fn rooted(schema: &str, root: &Object<'_>) -> Judged {
    match root.get("type") {
        None => replaced(
            &splice(schema, once(1..1), r#""type":"object","#),
            "the root has no type, `object` was added",
        ),
        Some(Node::Array(_)) => {
            let members = json::spans(schema).unwrap_or_default();
            let types: Vec<_> = places(&members, "type").collect();
            replaced(
                &splice(schema, types, r#""object""#),
                "the root accepts more than objects, its type was narrowed to `object`",
            )
        }
        Some(_) => Judged::AsWritten,
    }
}

fn replaced(schema: &str, reason: &'static str) -> Judged {
    match RawValue::from_string(schema.to_owned()) {
        Ok(schema) => Judged::Replaced(schema, reason),
        Err(_) => Judged::Unusable("the schema is no JSON".to_owned()),
    }
}

/// Where the values of a key are: more than one if it is repeated.
fn places<'a>(
    members: &'a [(impl AsRef<str>, Range<usize>)],
    key: &'a str,
) -> impl Iterator<Item = Range<usize>> + 'a {
    members.iter().filter(move |(name, _)| name.as_ref() == key).map(|(_, place)| place.clone())
}

/// `text` with each of these places, which are in order, replaced.
fn splice(text: &str, places: impl IntoIterator<Item = Range<usize>>, with: &str) -> String {
    let mut built = String::with_capacity(text.len() + with.len());
    let mut from = 0;
    for place in places {
        built.push_str(text.get(from..place.start).unwrap_or_default());
        built.push_str(with);
        from = place.end;
    }
    built.push_str(text.get(from..).unwrap_or_default());
    built
}

#[cfg(test)]
mod tests;
