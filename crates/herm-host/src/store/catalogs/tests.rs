use std::fs;
use std::path::Path;
use std::sync::Arc;

use herm_core::catalog::{Hints, StoredLists};
use herm_core::config::{Places, Revision, check};
use herm_core::era::Wire;
use herm_core::wire::view::Opened;
use serde_json::value::RawValue;

use super::{Catalogs, Identity};
use crate::store::ledgers::Entry;

pub(super) fn entry(token: &str) -> Entry {
    let text = "mcp_servers: {s: {command: x, env: {TOKEN: '${TOKEN}'}}}";
    let checked = check(text.as_bytes(), "config.yaml");
    let server = checked.config.ready().next().unwrap().clone();
    let target = server.resolve(&|_: &str| Some(token.to_owned()), &Places::default()).ok();
    Entry { server: Arc::new(server), target }
}

pub(super) fn lists(identity: &Identity, at: i64, tool: &str) -> StoredLists {
    let tool = RawValue::from_string(format!("{{\"name\":\"{tool}\"}}")).unwrap();
    StoredLists {
        fingerprint: identity.fingerprint.clone(),
        mac: identity.mac.clone(),
        server: "s".to_owned(),
        revision: Revision::V2025_11_25,
        wire: Wire::Stdio,
        opened: Opened::default(),
        generation: 1,
        listed_at_ms: at,
        hints: Hints::default(),
        tools: vec![tool],
        resources: Vec::new(),
        templates: Vec::new(),
        prompts: Vec::new(),
        warnings: Vec::new(),
    }
}

pub(super) fn open(folder: &Path) -> Catalogs {
    Catalogs::open(Some(&folder.join("cache")), Some(&folder.join("state")))
}

pub(super) fn tool(catalogs: &Catalogs, identity: &Identity) -> Option<String> {
    let lists = catalogs.read(identity).unwrap()?;
    Some(lists.tools[0].get().to_owned())
}

#[test]
fn one_tenants_list_is_never_shown_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let [one, two] = ["one", "two"].map(|token| catalogs.identity(&entry(token), &[]).unwrap());
    assert_eq!(one.fingerprint, two.fingerprint);
    catalogs.write(&lists(&one, 1, "of_one")).unwrap();
    assert_eq!(tool(&catalogs, &two), None);
    catalogs.write(&lists(&two, 2, "of_two")).unwrap();
    // Another host, which reads the same key.
    let catalogs = open(folder.path());
    assert_eq!(catalogs.identity(&entry("one"), &[]).unwrap(), one);
    assert_eq!(tool(&catalogs, &one).unwrap(), r#"{"name":"of_one"}"#);
    assert_eq!(tool(&catalogs, &two).unwrap(), r#"{"name":"of_two"}"#);
}

#[test]
fn an_older_listing_never_replaces_a_newer_one_and_a_false_future_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let identity = catalogs.identity(&entry("t"), &[]).unwrap();
    for (at, name, expected) in [(5, "b", "b"), (4, "a", "b"), (6, "c", "c")] {
        catalogs.write(&lists(&identity, at, name)).unwrap();
        let expected = format!("{{\"name\":\"{expected}\"}}");
        assert_eq!(tool(&catalogs, &identity), Some(expected));
    }
    let twin = StoredLists { server: "twin".to_owned(), ..lists(&identity, 5, "e") };
    catalogs.write(&twin).unwrap();
    assert_eq!(tool(&catalogs, &identity).unwrap(), r#"{"name":"c"}"#, "the same file");
    catalogs.write(&lists(&identity, i64::MAX / 2, "z")).unwrap();
    catalogs.write(&lists(&identity, 7, "d")).unwrap();
    assert_eq!(tool(&catalogs, &identity).unwrap(), r#"{"name":"d"}"#);
}

#[test]
fn a_damaged_file_is_set_aside_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let identity = catalogs.identity(&entry("t"), &[]).unwrap();
    catalogs.write(&lists(&identity, 1, "a")).unwrap();
    let path = folder.path().join("cache/catalog").join(identity.file());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    let why = catalogs.read(&identity).unwrap_err();
    assert!(why.contains(&identity.file()) && why.contains("set aside"), "{why}");
    assert_eq!(tool(&catalogs, &identity), None, "it is said once");
    assert!(path.with_extension("set-aside").exists(), "nothing is lost");
    catalogs.write(&lists(&identity, 2, "b")).unwrap();
    assert_eq!(tool(&catalogs, &identity).unwrap(), r#"{"name":"b"}"#);
}

#[test]
fn the_index_has_one_line_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let identity = catalogs.identity(&entry("t"), &[]).unwrap();
    catalogs.write(&lists(&identity, 1_000, "a")).unwrap();
    let index = fs::read_to_string(folder.path().join("cache/catalog/index.jsonl")).unwrap();
    let row: serde_json::Value = serde_json::from_str(index.trim_end()).unwrap();
    assert_eq!(row["server"], "s");
    assert_eq!(row["fingerprint"], identity.fingerprint.as_str());
    assert_eq!(row["tools"], 1);
    assert_eq!(row["listed_at"], "1970-01-01T00:00:01Z");
    assert!(!index.contains(&identity.mac), "{index}");
}

#[test]
fn listings_again_and_again_do_not_grow_the_index_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let identity = catalogs.identity(&entry("t"), &[]).unwrap();
    let twin = StoredLists { server: "twin".to_owned(), ..lists(&identity, 1, "a") };
    catalogs.write(&twin).unwrap();
    for at in 2..100 {
        catalogs.write(&lists(&identity, at, "a")).unwrap();
        let index = fs::read_to_string(folder.path().join("cache/catalog/index.jsonl")).unwrap();
        let rows = index.lines().map(|line| serde_json::from_str(line).unwrap());
        let rows: Vec<serde_json::Value> = rows.collect();
        assert!(rows.len() <= 9, "{index}");
        assert_eq!(rows[0]["server"], "twin", "another's line stays");
        assert_eq!(rows.last().unwrap()["listed_at_ms"], at);
    }
}

#[test]
fn a_line_of_a_writer_that_was_killed_takes_no_other_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let identity = catalogs.identity(&entry("t"), &[]).unwrap();
    catalogs.write(&lists(&identity, 1, "a")).unwrap();
    let path = folder.path().join("cache/catalog/index.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{}", &text[..text.len() / 2])).unwrap();
    catalogs.write(&lists(&identity, 2, "b")).unwrap();
    let index = fs::read_to_string(&path).unwrap();
    let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let times: Vec<_> =
        index.lines().map(|line| row(line).map(|row| row["listed_at_ms"].clone())).collect();
    assert_eq!(times, [Some(1.into()), None, Some(2.into())]);
}

#[test]
fn writers_side_by_side_lose_no_newest_listing() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    let identity = first.identity(&entry("t"), &[]).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (identity, folder) = (&identity, folder.path());
            scope.spawn(move || {
                let catalogs = open(folder);
                for round in 0..25 {
                    let at = round * 8 + writer + 1;
                    catalogs.write(&lists(identity, at, &format!("t{at}"))).unwrap();
                    assert!(catalogs.read(identity).unwrap().is_some(), "never torn");
                }
            });
        }
    });
    assert_eq!(tool(&first, &identity).unwrap(), r#"{"name":"t200"}"#);
}
