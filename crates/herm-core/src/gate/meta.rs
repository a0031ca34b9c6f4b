//! `_meta` of a result: what the protocol keeps for itself is between a server and us (B-6).

use serde_json::Value;
use serde_json::value::RawValue;

use super::clean;
use crate::wire::Raw;
use crate::wire::json::{is_object, member, members};
use crate::wire::params::Params;

/// Where a changed result says so.
const CLEANED: &str = "herm/cleaned";
/// Dropped keys that are told, and characters of each.
const TOLD: usize = 16;
const TOLD_CHARS: usize = 128;

/// The result without the reserved keys of its `_meta`; nothing if it has none. What was dropped is
/// told in `_meta["herm/cleaned"].dropped`; all other values stay as written.
///
/// Costs a search of the bytes when no `_meta` is in them.
#[must_use]
pub fn without_reserved(result: &RawValue) -> Option<Raw> {
    let json = result.get();
    let meta = may_have_meta(json).then(|| member(json, "_meta")).flatten()?;
    let mut kept = Params::new();
    let (mut dropped, mut count) = (Vec::new(), 0_usize);
    members(meta.get(), &mut |key, value| {
        if !is_reserved(&key) {
            if key != CLEANED {
                kept = std::mem::take(&mut kept).raw(&key, value.get());
            }
            return;
        }
        count += 1;
        if dropped.len() < TOLD {
            dropped.push(Value::from(clean::line(&key, TOLD_CHARS)));
        }
    });
    if count == 0 {
        return None;
    }
    let told = Params::new().raw("dropped", &Value::from(dropped).to_string());
    let meta = kept.raw(CLEANED, &told.bare()).bare();
    let mut cleaned = Params::new();
    members(json, &mut |key, value| {
        // Of a repeated key the last one counts, so each gets what counts.
        let value = if key == "_meta" && is_object(value) { &meta } else { value.get() };
        cleaned = std::mem::take(&mut cleaned).raw(&key, value);
    });
    RawValue::from_string(cleaned.bare()).ok()
}

/// False if no member is called `_meta`, in any spelling.
fn may_have_meta(json: &str) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(json.as_bytes(), word).is_some();
    has(b"\"_meta\"") || has(b"\\u00")
}

/// A prefix is the protocol's with `modelcontextprotocol` anywhere in it, and with `mcp` as its second
/// label or as any but its last.
fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let last = prefix.matches('.').count();
    prefix.split('.').enumerate().any(|(at, label)| match label {
        "modelcontextprotocol" => true,
        "mcp" => at == 1 || at < last,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::without_reserved;

    fn cleaned(json: &str) -> Option<String> {
        let result = RawValue::from_string(json.to_owned()).unwrap();
        without_reserved(&result).map(|raw| raw.get().to_owned())
    }

    #[test]
    fn reserved_keys_go_and_nothing_else_changes() {
        let json = r#"{"n":1e400,"_meta":{"vendor.example/key":{"a":1.0},"io.modelcontextprotocol/made-up":2,"com.mcp.tools/x":3},"s":"\u00e9"}"#;
        assert_eq!(
            cleaned(json).unwrap(),
            r#"{"n":1e400,"_meta":{"vendor.example/key":{"a":1.0},"herm/cleaned":{"dropped":["io.modelcontextprotocol/made-up","com.mcp.tools/x"]}},"s":"\u00e9"}"#
        );
        let spelled = r#"{"_met\u0061":{"io.m\u006fdelcontextprotocol/x":2,"herm/cleaned":1}}"#;
        assert_eq!(
            cleaned(spelled).unwrap(),
            r#"{"_meta":{"herm/cleaned":{"dropped":["io.modelcontextprotocol/x"]}}}"#
        );
    }

    #[test]
    fn reserved_labels_count_wherever_they_stand() {
        for key in [
            "modelcontextprotocol.io/x",
            "tools.mcp.com/x",
            "io.modelcontextprotocol/x",
            "dev.mcp/x",
        ] {
            assert!(cleaned(&format!(r#"{{"_meta":{{"{key}":1}}}}"#)).is_some(), "{key}");
        }
        for key in ["com.example.mcp/x", "com.vendor/x", "mcp/x", "plain"] {
            assert_eq!(cleaned(&format!(r#"{{"_meta":{{"{key}":1}}}}"#)), None, "{key}");
        }
    }

    #[test]
    fn foreign_keys_pass_and_so_does_what_is_below() {
        for json in [
            r#"{"content":[]}"#,
            r#"{"_meta":{}}"#,
            r#"{"_meta":null}"#,
            r#"{"_meta":[{"io.modelcontextprotocol/x":1}]}"#,
            r#"{"_meta":{"traceparent":"00-a","progressToken":1,"mcp/x":1,"com.example.mcp/x":1,"io.modelcontextprotocol":1}}"#,
            r#"{"content":[{"_meta":{"io.modelcontextprotocol/x":1}}]}"#,
        ] {
            assert_eq!(cleaned(json), None, "{json}");
        }
    }

    #[test]
    fn what_is_told_of_them_is_bounded() {
        let keys: Vec<String> =
            (0..100).map(|n| format!(r#""io.mcp/{n}{}":1"#, "k".repeat(500))).collect();
        let cleaned = cleaned(&format!(r#"{{"_meta":{{{}}}}}"#, keys.join(","))).unwrap();
        assert!(cleaned.len() < 4000, "{}", cleaned.len());
        assert_eq!(cleaned.matches("io.mcp/").count(), 16);
    }
}
