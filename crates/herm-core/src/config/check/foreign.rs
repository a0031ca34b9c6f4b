//! Entries in the dialects of other clients, turned into ours.

use super::block::boolean;
use super::report::Report;
use crate::config::tree::{Entry, Mapping, Node, Style, Value};

/// Keys of other clients that mean nothing here.
const IGNORED: [&str; 25] = [
    "alwaysAllow",
    "alwaysLoad",
    "authProviderType",
    "autoApprove",
    "description",
    "dev",
    "displayName",
    "envFile",
    "fromGalleryId",
    "gallery",
    "headersHelper",
    "icon",
    "initializationOptions",
    "name",
    "note",
    "oauth",
    "oauthScopes",
    "provider",
    "registryUrl",
    "sandbox",
    "sandboxEnabled",
    "tags",
    "version",
    "watch",
    "$schema",
];

/// Times of this and above are taken as milliseconds: no one waits that many seconds.
const MILLISECONDS: f64 = 1000.0;

/// The entry with the keys of other clients mapped; those that cannot be are named in one warning.
pub(super) fn translate(node: &Node, report: &mut Report) -> Node {
    let Some(mapping) = node.mapping() else { return node.clone() };
    let mut ours = Mapping::default();
    let mut ignored = Vec::new();
    for entry in &mapping.entries {
        // Gemini's `trust` is a boolean of another meaning; ours is a word and must not be lost.
        let gemini = entry.key == "trust" && entry.value.text().and_then(boolean).is_some();
        if gemini || IGNORED.contains(&entry.key.as_str()) {
            ignored.push(format!("`{}`", entry.key));
            continue;
        }
        for (key, value) in mapped(entry, report) {
            // What the entry says in our own words wins.
            if key != entry.key && mapping.get(&key).is_some() || ours.get(&key).is_some() {
                ignored.push(format!("`{}`", entry.key));
            } else {
                ours.entries.push(Entry { key, place: entry.place, value });
            }
        }
    }
    if !ignored.is_empty() {
        let message =
            format!("keys of another program, without effect here: {}", ignored.join(", "));
        let issue = report.warn(node.place, "", message);
        if ignored.iter().any(|key| key == "`envFile`") {
            issue.hint("put the variables of `envFile` into `env`, or into herm's `.env`");
        }
    }
    Node { place: node.place, value: Value::Mapping(ours) }
}

/// One key of another client as ours: none, one, or two.
fn mapped(entry: &Entry, report: &mut Report) -> Vec<(String, Node)> {
    let text = entry.value.text().unwrap_or_default().trim();
    let one = |key: &str, value: Node| vec![(key.to_owned(), value)];
    let scalar = |text: &str| plain(&entry.value, text);
    match entry.key.as_str() {
        "type" => match text.to_ascii_lowercase().as_str() {
            "stdio" | "local" => Vec::new(),
            "streamable-http" | "streamablehttp" | "remote" => one("transport", scalar("http")),
            _ => one("transport", entry.value.clone()),
        },
        "disabled" => match boolean(text) {
            Some(off) => one("enabled", scalar(if off { "false" } else { "true" })),
            None => one("enabled", entry.value.clone()),
        },
        "isActive" => one("enabled", entry.value.clone()),
        "serverUrl" => one("url", entry.value.clone()),
        "httpUrl" => {
            vec![("url".to_owned(), entry.value.clone()), ("transport".to_owned(), scalar("http"))]
        }
        "includeTools" => one("tools", inside(entry, "include")),
        "excludeTools" | "disabledTools" => one("tools", inside(entry, "exclude")),
        "timeout" => one("timeout", seconds(entry, report)),
        key => one(key, entry.value.clone()),
    }
}

fn plain(node: &Node, text: &str) -> Node {
    let value = Value::Scalar { text: text.to_owned(), style: Style::Plain };
    Node { place: node.place, value }
}

fn inside(entry: &Entry, key: &str) -> Node {
    let inner = Entry { key: key.to_owned(), place: entry.place, value: entry.value.clone() };
    let mapping = Mapping { entries: vec![inner], repeats: Vec::new() };
    Node { place: entry.value.place, value: Value::Mapping(mapping) }
}

fn seconds(entry: &Entry, report: &mut Report) -> Node {
    let number = entry.value.text().and_then(|text| text.trim().parse::<f64>().ok());
    let Some(number) = number.filter(|number| *number >= MILLISECONDS && number.is_finite()) else {
        return entry.value.clone();
    };
    let seconds = number / 1000.0;
    let message = format!("is taken as milliseconds, so {seconds} seconds");
    report.warn(entry.value.place, "timeout", message);
    plain(&entry.value, &seconds.to_string())
}
