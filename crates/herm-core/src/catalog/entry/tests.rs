use serde_json::value::RawValue;

use super::{MAX_BYTES, StoredLists, Unusable};
use crate::catalog::{CacheScope, Hints};
use crate::config::Revision;
use crate::era::Wire;
use crate::wire::Raw;
use crate::wire::view::Opened;

fn raw(json: &str) -> Raw {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn lists() -> StoredLists {
    StoredLists {
        fingerprint: "0123456789abcdef".to_owned(),
        mac: "00".repeat(16),
        server: "files".to_owned(),
        revision: Revision::V2026_07_28,
        wire: Wire::Streamable,
        opened: Opened {
            server_info: Some(raw("{\n \"name\": \"f\"\n}")),
            capabilities: Some(raw(r#"{"tools":{}}"#)),
            instructions: Some("two\nlines".to_owned()),
            ..Opened::default()
        },
        generation: 3,
        listed_at_ms: 1_800_000_000_000,
        hints: Hints { ttl_ms: Some(5), scope: CacheScope::Public },
        tools: vec![raw("{ \"name\":\"a\",\n \"x\": 1.0e2 }"), raw(r#"{"name":"\ud800"}"#)],
        resources: vec![raw(r#"{"uri":"memo://1"}"#)],
        templates: Vec::new(),
        prompts: Vec::new(),
        warnings: vec!["`prompts/list` is left out".to_owned()],
    }
}

fn texts(raw: &[Raw]) -> Vec<&str> {
    raw.iter().map(|raw| raw.get()).collect()
}

#[test]
fn what_was_written_is_read_to_the_byte() {
    let before = lists();
    let text = before.to_text().unwrap();
    let after = StoredLists::read(&text, &before.fingerprint, &before.mac).unwrap();
    assert_eq!(texts(&after.tools), texts(&before.tools));
    assert_eq!(texts(&after.resources), texts(&before.resources));
    assert_eq!(after.opened.instructions, before.opened.instructions);
    assert_eq!((after.revision, after.wire), (before.revision, before.wire));
    assert_eq!((after.hints, after.listed_at_ms), (before.hints, before.listed_at_ms));
    assert!(after.opened.offers("tools"));
    assert_eq!(after.to_text().unwrap(), text);
}

#[test]
fn a_file_that_was_cut_or_changed_is_damaged() {
    let before = lists();
    let text = before.to_text().unwrap();
    let read = |text: &str| StoredLists::read(text, &before.fingerprint, &before.mac);
    for cut in 0..text.len() {
        let Some(part) = text.get(..cut) else { continue };
        assert!(matches!(read(part), Err(Unusable::Damaged(_))), "{cut}");
    }
    let changed = text.replace("\"name\":\"a\"", "\"name\":\"b\"");
    assert_ne!(changed, text);
    assert_eq!(read(&changed).unwrap_err(), Unusable::Damaged("it was cut or changed".to_owned()));
}

#[test]
fn another_context_and_a_newer_form_are_told_apart() {
    let before = lists();
    let text = before.to_text().unwrap();
    let other = StoredLists::read(&text, &before.fingerprint, &"11".repeat(16));
    assert_eq!(other.unwrap_err(), Unusable::Foreign);
    let other = StoredLists::read(&text, "fedcba9876543210", &before.mac);
    assert_eq!(other.unwrap_err(), Unusable::Foreign);
    let newer = text.replacen("{\"v\":1,", "{\"v\":2,\"more\":[],", 1);
    let read = StoredLists::read(&newer, &before.fingerprint, &before.mac);
    assert_eq!(read.unwrap_err(), Unusable::Newer(2));
}

#[test]
fn an_entry_of_more_than_8_mib_is_not_written() {
    let big = raw(&format!("{{\"name\":\"{}\"}}", "x".repeat(MAX_BYTES)));
    let all = StoredLists { tools: vec![big], ..lists() };
    assert!(all.to_text().unwrap_err() > MAX_BYTES);
}
