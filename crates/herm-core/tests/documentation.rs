//! The documentation lists every key that the checker accepts, and no other.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test ends where it fails")]

use std::collections::BTreeMap;

use herm_core::config::{Effect, KEYS, Key, TOP, check};

const DOCUMENT: &str = include_str!("../../../docs/configuration.md");

/// The rows of the table below a heading: path to its other cells.
fn rows(heading: &str) -> BTreeMap<String, Vec<String>> {
    let section = DOCUMENT.split(&format!("\n## {heading}\n")).nth(1).expect(heading);
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned());
        (cells.next().unwrap().trim_matches('`').to_owned(), cells.collect())
    })
    .collect()
}

fn compare(heading: &str, keys: &[Key]) {
    let rows = rows(heading);
    let documented: Vec<_> = rows.keys().cloned().collect();
    let mut known: Vec<_> = keys.iter().map(|key| key.path.to_owned()).collect();
    known.sort();
    assert_eq!(documented, known);
    for key in keys {
        let cells = &rows[key.path];
        let of = match key.effect {
            Effect::Any => "all",
            Effect::Stdio => "`command`",
            Effect::Http => "`url`",
            Effect::Later => "no effect yet",
        };
        assert_eq!(cells[..3], [key.takes, key.default, of], "{}", key.path);
        assert!(cells[3].starts_with('`') && cells[3].len() > 2, "{} has no example", key.path);
    }
}

#[test]
fn every_key_of_a_server_is_documented() {
    compare("Keys of a server", KEYS);
}

#[test]
fn every_key_of_the_top_is_documented() {
    compare("Keys at the top of the file", TOP);
}

#[test]
fn every_documented_example_passes_the_check() {
    for (path, cells) in rows("Keys of a server") {
        let example = cells[3].trim_matches('`');
        let transport = match (path.as_str(), cells[2].as_str()) {
            ("url" | "command", _) => "",
            ("client_key", _) => "url: 'https://h'\n    client_cert: c",
            ("transport", _) | (_, "`url`") => "url: 'https://h'",
            _ => "command: x",
        };
        let key = match path.split_once('.') {
            Some((block, key)) => format!("{block}: {{{key}: {example}}}"),
            None => format!("{path}: {example}"),
        };
        let text = format!("mcp_servers:\n  s:\n    {transport}\n    {key}\n");
        let checked = check(text.as_bytes(), "config.yaml");
        assert_eq!(checked.errors, [], "{text}");
        let idle = checked.warnings.iter().any(|warning| warning.message.contains("no effect yet"));
        assert_eq!(idle, cells[2] == "no effect yet", "{text}");
    }
}

#[test]
fn the_example_at_the_top_passes_the_check() {
    let example = DOCUMENT.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let checked = check(example.as_bytes(), "config.yaml");
    assert_eq!((checked.errors, checked.warnings), (vec![], vec![]));
    assert_eq!(checked.config.ready().count(), 2);
}
