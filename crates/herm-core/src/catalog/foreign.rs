//! What the reference system has kept of its servers: one JSON object by server name, each with the
//! tools that were left after its filters. Read once, and shown as `cached`.

use serde_json::value::RawValue;

use super::freshness::{CacheScope, Hints};
use crate::wire::Raw;
use crate::wire::json::{elements, integer, is_object, member, members, owned_text};
use crate::wire::view::Opened;

/// One server of the reference's file.
#[derive(Clone, Debug)]
pub struct ForeignEntry {
    /// Its name in the configuration.
    pub server: String,
    /// See [`crate::config::compat_fingerprint`].
    pub fingerprint: String,
    /// What can be known of its opening: whether it has tools, resources, prompts.
    pub opened: Opened,
    /// When it was written, in milliseconds since 1970; absent: unknown.
    pub written_at_ms: Option<i64>,
    /// Its hints. A `ttl_ms` of 0 is none: the reference writes it where the server said nothing.
    pub hints: Hints,
    /// Definitions; those without a name are left out.
    pub tools: Vec<Raw>,
}

/// Reads the file. A damaged entry costs no other; a damaged file gives none.
#[must_use]
pub fn entries(json: &str) -> Vec<ForeignEntry> {
    let mut out = Vec::new();
    if serde_json::from_str::<&RawValue>(json).is_err() {
        return out;
    }
    members(json, &mut |name, value| {
        if is_object(value) {
            out.extend(entry(&name, value));
        }
    });
    out
}

fn entry(name: &str, value: &RawValue) -> Option<ForeignEntry> {
    let get = |key: &str| member(value.get(), key);
    let tools: Vec<Raw> = elements(get("tools")?)?
        .into_iter()
        .filter(|tool| member(tool.get(), "name").and_then(owned_text).is_some())
        .map(ToOwned::to_owned)
        .collect();
    let utilities = get("utility_tools").and_then(elements).unwrap_or_default();
    let has = |part: &str| {
        utilities.iter().any(|utility| {
            let key = member(utility.get(), "handler_key").and_then(owned_text);
            key.is_some_and(|key| key.contains(part))
        })
    };
    let parts = [("tools", true), ("resources", has("resource")), ("prompts", has("prompt"))];
    let offered: Vec<&str> = parts.iter().filter(|(_, has)| *has).map(|(part, _)| *part).collect();
    let offered: Vec<String> = offered.iter().map(|part| format!("\"{part}\":{{}}")).collect();
    let capabilities = RawValue::from_string(format!("{{{}}}", offered.join(","))).ok();
    let seconds = get("written_at").and_then(|at| serde_json::from_str::<f64>(at.get()).ok());
    let ttl = get("ttl_ms").and_then(|ttl| integer(ttl.get())).filter(|ttl| *ttl > 0);
    Some(ForeignEntry {
        server: name.to_owned(),
        fingerprint: get("fingerprint").and_then(owned_text)?,
        opened: Opened { capabilities, ..Opened::default() },
        written_at_ms: seconds.filter(|at| at.is_finite() && *at > 0.0).map(millis),
        hints: Hints {
            ttl_ms: ttl.and_then(|ttl| ttl.try_into().ok()),
            scope: CacheScope::Private,
        },
        tools,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0) as i64
}

#[cfg(test)]
mod tests {
    use super::entries;

    const FILE: &str = r#"{
      "web": {"fingerprint": "b041845356ebe668", "ttl_ms": 0, "written_at": 1764000000.5,
        "tools": [{"name": "read", "description": "d", "inputSchema": {"type": "object"}}, 7, {"description": "no name"}],
        "utility_tools": [{"schema": {"name": "list_resources"}, "handler_key": "list_resources"}]},
      "odd": 5, "odder": {"tools": "none"},
      "plain": {"fingerprint": "38953fe0cbe0ee5f", "tools": [], "ttl_ms": 60000}
    }"#;

    #[test]
    fn each_entry_stands_alone() {
        let found = entries(FILE);
        assert_eq!(found.len(), 2);
        assert_eq!((&*found[0].server, &*found[0].fingerprint), ("web", "b041845356ebe668"));
        assert_eq!(found[0].tools.len(), 1);
        assert_eq!(found[0].written_at_ms, Some(1_764_000_000_500));
        assert!(found[0].opened.offers("resources") && !found[0].opened.offers("prompts"));
        assert_eq!(found[0].hints.ttl_ms, None, "an absent hint was written as 0");
        assert_eq!(found[1].hints.ttl_ms, Some(60_000));
        assert_eq!(found[1].written_at_ms, None);
    }

    #[test]
    fn a_damaged_file_has_none() {
        for cut in [0, 1, 40, FILE.len() - 1] {
            assert!(entries(&FILE[..cut]).is_empty(), "{cut}");
        }
        assert!(entries("[]").is_empty());
    }
}
