use std::collections::{BTreeMap, HashSet};

use super::*;

fn name(text: &str) -> ServerName {
    text.parse().unwrap()
}

fn part(text: &str) -> ServerPart {
    ServerPart::of(&name(text), None)
}

fn publish(table: &mut NameTable, server: &str, raws: &[&str]) -> BTreeMap<String, String> {
    let (named, _) = table.publish(&name(server), &part(server), raws);
    named.into_iter().map(|tool| (tool.raw, tool.exposed)).collect()
}

#[test]
fn names_are_cleaned_as_promised() {
    let names = publish(&mut NameTable::default(), "my-api", &["list-items.v2"]);
    assert_eq!(names["list-items.v2"], "mcp__my_api__list_items_v2");
}

/// B15: hostile names stay callable, distinct and still.
#[test]
fn every_odd_name_gets_one_safe_name_that_stays() {
    let server = "twenty-characters-ok";
    let long = "t".repeat(60);
    let longer = "u".repeat(300);
    let raws = [
        &long,
        "a.b",
        "a/b",
        "a b",
        "a-b",
        "a_b",
        "Get",
        "get",
        "smile 😀",
        "1st",
        "",
        &longer,
        "same",
        "same",
    ];
    let mut table = NameTable::default();
    let (named, skipped) = table.publish(&name(server), &part(server), &raws);
    let why: Vec<_> = skipped.iter().map(|skip| (skip.index, skip.why)).collect();
    assert_eq!(why, [(10, Skip::Empty), (13, Skip::Duplicate)]);
    let mut seen = HashSet::new();
    for tool in &named {
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(
            (1..=64).contains(&tool.exposed.len()) && tool.exposed.chars().all(safe),
            "{tool:?}"
        );
        assert!(seen.insert(tool.exposed.to_ascii_lowercase()), "{tool:?}");
        assert_eq!(tool.raw, raws[tool.index]);
        assert_eq!(table.find(&tool.exposed), Some((server, tool.raw.as_str())));
    }
    assert_eq!(named.len(), 12);

    let expected: BTreeMap<_, _> = named.into_iter().map(|tool| (tool.raw, tool.exposed)).collect();
    assert_eq!(expected["a_b"], "mcp__twenty_characters_ok__a_b");
    assert_eq!(expected["Get"], "mcp__twenty_characters_ok__Get");
    assert!(expected["get"].starts_with("mcp__twenty_characters_ok__get_"));

    let json = serde_json::to_string(&table).unwrap();
    let mut restarted: NameTable = serde_json::from_str(&json).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..50 {
        let mut shuffled = raws.to_vec();
        rng.shuffle(&mut shuffled);
        assert_eq!(publish(&mut restarted, server, &shuffled), expected);
        assert_eq!(publish(&mut NameTable::default(), server, &shuffled), expected);
    }
}

#[test]
fn a_late_comer_moves_no_published_name() {
    let mut table = NameTable::default();
    let first = publish(&mut table, "s", &["a.b"]);
    assert_eq!(first["a.b"], "mcp__s__a_b");
    let second = publish(&mut table, "s", &["a_b", "a.b"]);
    assert_eq!(second["a.b"], "mcp__s__a_b");
    assert!(second["a_b"].starts_with("mcp__s__a_b_"));
    publish(&mut table, "s", &[]);
    assert_eq!(publish(&mut table, "s", &["a.b", "a_b"]), second);
    assert!(table.retain(|_| false));
    assert_eq!(publish(&mut table, "s", &["a_b", "a.b"])["a_b"], "mcp__s__a_b");
}

#[test]
fn only_names_of_removed_servers_are_forgotten() {
    let mut table = NameTable::default();
    for server in ["stays", "goes", "elsewhere"] {
        publish(&mut table, server, &["a.b"]);
    }
    table.keep(&name("elsewhere"));
    let stored = serde_json::to_string(&table).unwrap();
    let mut table: NameTable = serde_json::from_str(&stored).unwrap();
    assert!(table.retain(|server| server == "stays"));
    assert!(!table.retain(|server| server == "stays"), "there is nothing left to forget");
    for server in ["stays", "elsewhere"] {
        let late = publish(&mut table, server, &["a_b", "a.b"]);
        assert_eq!(late["a.b"], format!("mcp__{server}__a_b"));
    }
    assert_eq!(publish(&mut table, "goes", &["a_b", "a.b"])["a_b"], "mcp__goes__a_b");
    // Another part starts the names over, and changes nothing about who needs them.
    table.publish(&name("elsewhere"), &ServerPart::of(&name("elsewhere"), Some("e")), &["a"]);
    table.retain(|_| false);
    assert_eq!(table.find("mcp__e__a"), Some(("elsewhere", "a")));
}

#[test]
fn a_tool_named_like_anothers_hash_does_not_take_it() {
    let hashed = publish(&mut NameTable::default(), "s", &["a.b", "a_b"])["a.b"].clone();
    let squatter = hashed.strip_prefix("mcp__s__").unwrap();
    let names = publish(&mut NameTable::default(), "s", &["a.b", "a_b", squatter]);
    assert_eq!(names[squatter], hashed);
    assert_eq!(names.values().collect::<HashSet<_>>().len(), 3);
}

#[test]
fn a_server_part_cannot_reach_into_a_tools_name() {
    for written in ["a__b", "a_", "a.", "a..b", "日本", "a___"] {
        let part = part(written);
        assert!(part.is_hashed() && !part.as_str().contains("__"), "{part:?}");
        assert!(!part.as_str().ends_with('_') && !part.as_str().is_empty());
        assert_eq!(part, self::part(written));
    }
    assert_ne!(part("a__b"), part("a..b"));
    assert_eq!(part("_a-b").as_str(), "_a_b");
    assert_eq!(ServerPart::of(&name("a__b"), Some("nice")).prefix(), "mcp__nice__");
}

#[test]
fn a_table_edited_by_hand_gives_no_name_away() {
    let text = r#"{"servers":{"s":{"part":"s","tools":{"a":"mcp__other__a","b":"mcp__s__c","c":"mcp__s__C","d":"mcp__s__ "}}}}"#;
    let mut table: NameTable = serde_json::from_str(text).unwrap();
    let names = publish(&mut table, "s", &["a", "b", "c", "d"]);
    assert_eq!(names["a"], "mcp__s__a");
    assert_eq!(names["b"], "mcp__s__c");
    assert!(names["c"].starts_with("mcp__s__c_"));
    assert_eq!(names["d"], "mcp__s__d");
}

#[test]
fn a_long_server_name_cannot_be_cut_to_anothers() {
    let long = format!("{}_{}", "a".repeat(49), "b".repeat(14));
    let names = publish(&mut NameTable::default(), &long, &["tool"]);
    assert!(names["tool"].len() <= 64 && !names["tool"][5..].contains("__"), "{names:?}");
    let mut table = NameTable::default();
    let first = publish(&mut table, &long, &["tool"]);
    assert_eq!(publish(&mut table, &long, &["more", "tool"])["tool"], first["tool"]);
}

#[test]
fn utilities_and_exposed_forms_are_known() {
    let long = "n".repeat(64);
    assert_eq!(Utility::GetPrompt.exposed(&name("s"), &part("s")), "mcp__s__get_prompt");
    assert_eq!(Utility::GetPrompt.exposed(&name(&long), &part(&long)).len(), 64);
    assert_eq!(unexposed("mcp__my_api__x*", &part("my-api")), Some("x*"));
    assert_eq!(unexposed("mcp__other__x", &part("my-api")), None);
    assert_eq!(unexposed("é", &part("my-api")), None);
}

#[test]
fn a_name_with_a_slash_is_no_server_name() {
    assert_eq!("a/b".parse::<ServerName>(), Err(NameError::Char { found: '/' }));
}
