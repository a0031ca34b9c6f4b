//! Arguments as the schema of their tool wants them.

use serde_json::value::RawValue;

use crate::wire::json::{boolean, elements, is_null, member, members, owned_text, quote};

/// How deep alternatives of one property are looked into.
const DEPTH: u32 = 8;

/// The arguments without each optional property that is null where its schema forbids null; nothing
/// if there is none such. Every other member keeps its value as written, in order.
///
/// Models fill in null for what they leave out, and strict servers refuse it. What a `$ref` says of
/// null is not looked up: such a null is sent.
#[must_use]
pub fn without_forbidden_nulls(arguments: &str, input_schema: &RawValue) -> Option<String> {
    if !arguments.contains("null") {
        return None;
    }
    let properties = member(input_schema.get(), "properties")?;
    let required = member(input_schema.get(), "required").and_then(elements).unwrap_or_default();
    let required: Vec<String> = required.into_iter().filter_map(owned_text).collect();
    let mut kept = String::from("{");
    let mut dropped = false;
    members(arguments, &mut |key, value| {
        let forbidden = is_null(value)
            && !required.contains(&key.to_string())
            && member(properties.get(), &key).is_some_and(|schema| forbids_null(schema, DEPTH));
        if forbidden {
            dropped = true;
            return;
        }
        if kept.len() > 1 {
            kept.push(',');
        }
        kept.push_str(&quote(&key));
        kept.push(':');
        kept.push_str(value.get());
    });
    kept.push('}');
    dropped.then_some(kept)
}

/// True if the schema surely refuses null.
fn forbids_null(schema: &RawValue, depth: u32) -> bool {
    let json = schema.get();
    if depth == 0 || member(json, "nullable").and_then(boolean) == Some(true) {
        return false;
    }
    let typed = member(json, "type").is_some_and(|types| match elements(types) {
        Some(types) => types.into_iter().all(is_not_null_type),
        None => is_not_null_type(types),
    });
    let alternatives = ["anyOf", "oneOf"].into_iter().any(|keyword| {
        let each = member(json, keyword).and_then(elements).unwrap_or_default();
        !each.is_empty() && each.into_iter().all(|one| forbids_null(one, depth - 1))
    });
    let values = member(json, "enum").and_then(elements).unwrap_or_default();
    let enumerated = !values.is_empty() && !values.into_iter().any(is_null);
    typed || alternatives || enumerated
}

fn is_not_null_type(name: &RawValue) -> bool {
    owned_text(name).is_some_and(|name| name != "null")
}

#[cfg(test)]
mod tests {
    use super::without_forbidden_nulls;
    use serde_json::value::RawValue;

    fn sent(arguments: &str) -> Option<String> {
        let schema = r##"{"type":"object","required":["must"],"properties":{
            "strict":{"type":"string"},"loose":{"type":["string","null"]},"must":{"type":"string"},
            "either":{"anyOf":[{"type":"string"},{"type":"null"}]},
            "neither":{"anyOf":[{"type":"string"},{"type":"number"}]},
            "open":{"nullable":true,"type":"string"},"choice":{"enum":["a","b"]},
            "far":{"$ref":"#/$defs/x"},"any":true}}"##;
        let schema = RawValue::from_string(schema.to_owned()).unwrap();
        without_forbidden_nulls(arguments, &schema)
    }

    #[test]
    fn null_goes_only_where_it_is_surely_refused() {
        for dropped in ["strict", "neither", "choice"] {
            let arguments = format!(r#"{{"a\u00e9":1.0,"{dropped}":null,"b":"null"}}"#);
            assert_eq!(sent(&arguments).unwrap(), r#"{"aé":1.0,"b":"null"}"#, "{dropped}");
        }
        for kept in ["loose", "must", "either", "open", "far", "any", "unknown"] {
            assert_eq!(sent(&format!(r#"{{"{kept}":null}}"#)), None, "{kept}");
        }
        assert_eq!(sent(r#"{"strict":"null"}"#), None);
        assert_eq!(sent(r#"{"strict":null}"#).unwrap(), "{}");
    }
}
