use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::{Judged, MAX_BYTES, definition, judge, output};
use crate::wire::Raw;

fn raw(json: &str) -> Raw {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// The verdict in short: `=`, the schema that stands in, or `!` and the reason.
fn verdict(schema: &str) -> String {
    match judge(Some(&raw(schema))) {
        Judged::AsWritten => "=".to_owned(),
        Judged::Replaced(schema, _) => schema.get().to_owned(),
        Judged::Unusable(reason) => format!("! {reason}"),
    }
}

fn nested(levels: usize) -> String {
    let open = r#"{"type":"object","properties":{"a":"#.repeat(levels);
    format!("{open}true{}", "}}".repeat(levels))
}

const RECURSIVE: &str = r##"{"type":"object","properties":{"next":{"$ref":"#"}}}"##;
const INTO_DEFS: &str = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}"##;
const ODD_NAMES: &str = r#"{"type":"object","properties":{"$ref":{"type":"string"},"type":{"type":"integer"},"__proto__":{"type":"object"}},"required":["$ref","type","__proto__"]}"#;

#[test]
fn the_twenty_odd_schemas_of_real_servers() {
    assert!(matches!(judge(None), Judged::Replaced(s, _) if s.get() == r#"{"type":"object"}"#));
    let cases = [
        ("{}", r#"{"type":"object"}"#),
        ("null", r#"{"type":"object"}"#),
        (
            r#"{"type":"string"}"#,
            "! the root of the schema accepts no object, so there are no arguments to give",
        ),
        (r#"{"type":"object","properties":{"a":true}}"#, "="),
        (
            r#"{"type":"object","properties":{"a":"object"}}"#,
            "! `properties.a` is a text, not a schema",
        ),
        (INTO_DEFS, "="),
        (RECURSIVE, "="),
        (
            r#"{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object"}]}"#,
            r#"{"type":"object","anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object"}]}"#,
        ),
        (r#"{ "type" : ["object", "null"], "x-a":1.0}"#, r#"{ "type" : "object", "x-a":1.0}"#),
        (r#"{"type":"object","properties":{"a":{"type":["string","null"]}}}"#, "="),
        (r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#, "="),
        (r#"{"type":"object","properties":{"a":{"enum":[1,2.5]}}}"#, "="),
        (
            r#"{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{}]}}}"#,
            "=",
        ),
        (r#"{"type":"object","properties":{"a":{}},"required":["b"]}"#, "="),
        (
            r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"maximum":3,"exclusiveMaximum":true}}}"#,
            "=",
        ),
        (&nested(200), "! the schema is nested deeper than 128"),
        (ODD_NAMES, "="),
    ];
    for (schema, expected) in cases {
        assert_eq!(verdict(schema), expected, "{schema}");
    }
    let big = format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(2 << 20));
    assert!(verdict(&big).ends_with("over the 1048576 allowed"));
    assert_eq!(output(&raw(r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#)), Ok(()));
    let odd_neighbours = r#"{"name":"t","description":null,"inputSchema":{},"annotations":[1]}"#;
    assert_eq!(
        definition(&raw(odd_neighbours), &judge(Some(&raw("{}")))).get(),
        r#"{"name":"t","description":null,"inputSchema":{"type":"object"},"annotations":[1]}"#
    );
}

#[test]
fn a_root_that_accepts_no_object_has_no_arguments() {
    let hopeless = [
        r#"{"type":["string","null"]}"#,
        r#"{"enum":["a",1]}"#,
        r#"{"const":5}"#,
        r#"{"anyOf":[{"type":"string"},{"type":"array"}]}"#,
        r#"{"oneOf":[]}"#,
        r#"{"allOf":[{"type":"object"},{"type":"string"}]}"#,
        r##"{"$ref":"#/$defs/A","$defs":{"A":{"type":"string"}}}"##,
        r##"{"$ref":"#"}"##,
        r##"{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}"##,
        r#"{"not":{}}"#,
        r#"{"not":{"type":"object"}}"#,
    ];
    for schema in hopeless {
        assert!(verdict(schema).starts_with("! the root"), "{schema}: {}", verdict(schema));
    }
    for (schema, what) in [("false", "`false`"), ("\"object\"", "a text"), ("[]", "an array")] {
        assert!(verdict(schema).contains(what), "{schema}: {}", verdict(schema));
    }
    let hopeful = [
        r#"{"enum":["a",{}]}"#,
        r#"{"not":{"required":["a"]}}"#,
        r#"{"not":{"type":"string"}}"#,
        r##"{"$ref":"#/definitions/A","definitions":{"A":{"type":"object"}}}"##,
        r##"{"anyOf":[{"$ref":"#"},{"type":"object"}]}"##,
    ];
    for schema in hopeful {
        let expected = format!(r#"{{"type":"object",{}"#, &schema[1..]);
        assert_eq!(verdict(schema), expected);
    }
}

#[test]
fn references_resolve_inside_the_document_or_keep_the_tool_out() {
    let resolves = [
        ("#", "{}"),
        ("#/$defs/a~1b~0c", r#"{"a/b~c":{}}"#),
        ("#/$defs/a%20b%2525", r#"{"a b%25":{}}"#),
        ("#/$defs/%C3%A9", r#"{"é":true}"#),
        ("#/$defs/a/items/1", r#"{"a":{"items":[{},{}]}}"#),
        ("#/$defs/a/x-more/b", r#"{"a":{"x-more":{"b":{}}}}"#),
        ("#here", r#"{"a":{"$anchor":"here"}}"#),
        ("#old", r##"{"a":{"$id":"#old"}}"##),
        ("other.json", r#"{"a":{"$id":"other.json"}}"#),
        ("other.json#/items", r#"{"a":{"$id":"other.json","items":{}}}"#),
        ("https://a.example/root#/$defs", r#"{"type":{}}"#),
        ("/root", "{}"),
    ];
    let with = |reference: &str, defs: &str| {
        format!(
            r#"{{"type":"object","$id":"https://a.example/root","properties":{{"p":{{"$ref":"{reference}"}}}},"$defs":{defs}}}"#
        )
    };
    for (reference, defs) in resolves.iter().filter(|(to, _)| !to.ends_with("#/$defs")) {
        assert_eq!(verdict(&with(reference, defs)), "=", "{reference}");
    }
    let fails = [
        ("#/$defs/b", "leads to no schema"),
        ("#/$defs/a/items/01", "leads to no schema"),
        ("#/$defs/a/title", "leads to no schema"),
        ("#/$defs/~2", "leads to no schema"),
        ("#/$defs/%F", "leads to no schema"),
        ("#nowhere", "leads to no schema"),
        ("https://evil.example/s.json", "leaves the schema"),
        ("file:///etc/passwd", "leaves the schema"),
        ("other.json", "leaves the schema"),
    ];
    for (reference, why) in fails {
        let found = verdict(&with(reference, r#"{"a":{"items":[{},{}],"title":"t"}}"#));
        assert!(found.starts_with('!') && found.ends_with(why), "{reference}: {found}");
    }
    // Found through a reference only, and itself in need of one.
    let hidden = r##"{"type":"object","x-a":{"$ref":"#/x-b"},"items":{"$ref":"#/x-a"}}"##;
    assert!(verdict(hidden).ends_with("leads to no schema"));
}

#[test]
fn malformed_keywords_keep_the_tool_out_and_data_is_not_judged() {
    let bad = [
        (r#"{"type":"object","required":"a"}"#, "`required` is not a list of names"),
        (r#"{"type":"object","required":[1]}"#, "`required` is not a list of names"),
        (r#"{"type":"object","properties":[]}"#, "`properties` is an array, not an object"),
        (r#"{"type":"object","properties":{"a":{"type":"text"}}}"#, "`text` is no type"),
        (
            r#"{"type":"object","properties":{"a":{"items":3}}}"#,
            "`items` is a number, not a schema",
        ),
        (r#"{"type":"object","allOf":{}}"#, "`allOf` is an object, not an array"),
        (r#"{"type":"object","items":{"$ref":1}}"#, "`$ref` is a number, not a text"),
    ];
    for (schema, reason) in bad {
        assert_eq!(verdict(schema), format!("! {reason}"), "{schema}");
    }
    let fine = [
        r#"{"type":"object","default":{"$ref":"nowhere","properties":3}}"#,
        r#"{"type":"object","examples":[{"$ref":"x"}],"const":{"$ref":"x"},"enum":[{"required":1}]}"#,
        r#"{"type":"object","dependencies":{"a":["b"],"c":{}}}"#,
        r#"{"type":"object","description":"half a pair: \ud83d","x":1e400}"#,
        r#"{"$schema":"https://example.com/own","type":"object","properties":{"a":{"required":true}}}"#,
        r#"{"type":"string","type":"object"}"#,
    ];
    for schema in fine {
        assert_eq!(verdict(schema), "=", "{schema}");
    }
}

#[test]
fn a_replaced_schema_changes_no_other_byte_of_the_definition() {
    let replaced = judge(None);
    let cases = [
        (r#"{"name":"t"}"#, r#"{"name":"t","inputSchema":{"type":"object"}}"#),
        (r#"{ }"#, r#"{ "inputSchema":{"type":"object"}}"#),
        (
            "{\"a\":{\"inputSchema\":1},\n \"inputSchema\" : null ,\"z\":\"\\u00e9 {\\\"\", \"n\":1.50}",
            "{\"a\":{\"inputSchema\":1},\n \"inputSchema\" : {\"type\":\"object\"} ,\"z\":\"\\u00e9 {\\\"\", \"n\":1.50}",
        ),
    ];
    for (written, expected) in cases {
        assert_eq!(definition(&raw(written), &replaced).get(), expected);
        assert_eq!(definition(&raw(written), &Judged::AsWritten).get(), written);
    }
    let spliced = "{ \"$defs\":{},\n\t\"properties\" : { \"a\":{\"default\":1.10}} }";
    assert_eq!(verdict(spliced), format!("{{\"type\":\"object\",{}", &spliced[1..]));
}

#[test]
fn no_mutation_of_a_schema_makes_judging_panic_or_replace_it_by_a_bad_one() {
    let seeds =
        [INTO_DEFS, RECURSIVE, ODD_NAMES, r##"{"$id":"a","anyOf":[{"$ref":"a#/x"}],"x":{}}"##];
    let mut random = fastrand::Rng::with_seed(7);
    let mut judged = 0;
    for _ in 0..20_000 {
        let mut bytes = seeds[random.usize(0..seeds.len())].as_bytes().to_vec();
        for _ in 0..random.usize(1..5) {
            let from = random.usize(0..bytes.len());
            let to = (from + random.usize(0..12)).min(bytes.len());
            let piece = bytes[from..to].to_vec();
            let at = random.usize(0..bytes.len());
            let end = (at + random.usize(0..12)).min(bytes.len());
            bytes.splice(at..end, piece);
        }
        let Ok(schema) = RawValue::from_string(String::from_utf8(bytes).unwrap()) else { continue };
        judged += 1;
        if let Judged::Replaced(better, _) = judge(Some(&schema)) {
            assert!(matches!(judge(Some(&better)), Judged::AsWritten), "{schema}");
        }
    }
    assert!(judged > 500, "{judged}");
}

#[test]
fn hostile_schemas_cost_no_more_than_their_size() {
    let fill = |one: &str, open: &str, close: &str| {
        let count = (MAX_BYTES - open.len() - close.len()) / (one.len() + 1);
        format!("{open}{}{close}", vec![one; count].join(","))
    };
    let mut defs = String::from(r##"{"$ref":"#/$defs/0","$defs":{"##);
    for i in 0..25_000 {
        defs.push_str(
            &[r#"""#, &i.to_string(), r##"":{"$ref":"#/$defs/"##, &(i + 1).to_string(), r#""},"#]
                .concat(),
        );
    }
    defs.push_str(r#""25000":{}}}"#);
    let long = format!(r#"{{"$id":"{}x","prefixItems":["#, "a/".repeat(500));
    let cases = [
        fill("{}", r#"{"type":"object","allOf":["#, "]}"),
        fill(r##"{"$ref":"#"}"##, r#"{"type":"object","prefixItems":["#, "]}"),
        fill(r#"{"$ref":"x"}"#, &long, "]}"),
        fill(r#""a":{}"#, r#"{"type":"object","properties":{"#, "}}"),
        defs,
        format!("{}{}", "[".repeat(MAX_BYTES / 2), "]".repeat(MAX_BYTES / 2)),
        format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(2 << 20)),
        format!(r#"{{"a":{}{}}}"#, "[".repeat(1 << 20), "]".repeat(1 << 20)),
    ];
    for schema in cases {
        let schema = raw(&schema);
        let begun = now();
        let _verdict = judge(Some(&schema));
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?} for {:.60}", schema.get());
    }
    let many: Vec<_> = (0..600).map(|i| format!(r#"{{"$ref":"{}x"}}"#, "./".repeat(i))).collect();
    let many = format!(r#"{{"$id":"x","items":[{}]}}"#, many.join(","));
    assert_eq!(verdict(&many), "! the schema uses more than 512 different URIs");
}

#[expect(clippy::disallowed_methods, reason = "this test is about the time that judging takes")]
fn now() -> Instant {
    Instant::now()
}
