use super::*;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn param(header: &str, path: &[&str]) -> HeaderParam {
    HeaderParam { header: header.to_owned(), path: path.iter().map(|&k| k.to_owned()).collect() }
}

fn pairs(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    headers.iter().map(|(name, value)| (&**name, &**value)).collect()
}

#[test]
fn annotations_are_found_at_any_depth_of_properties() {
    let schema = raw(r#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "x-mcp-header":{"type":"string","default":{"x-mcp-header":""}},
        "deep":{"type":"object","properties":{"n":{"x-mcp-header":"N","type":"integer"}}},
        "\u0062":{"type":"boolean","x-mcp\u002dheader":"B"}}}"#);
    assert_eq!(
        annotations(&schema).unwrap(),
        [param("Region", &["region"]), param("N", &["deep", "n"]), param("B", &["b"])]
    );
    for none in ["true", "{}", "null", "[]", r#"{"properties":5}"#, r#"{"x":"x-mcp-header"}"#] {
        assert_eq!(annotations(&raw(none)).unwrap(), [], "{none}");
    }
}

#[test]
fn an_invalid_annotation_says_why() {
    let property = |schema: &str| format!(r#"{{"properties":{{"p":{schema}}}}}"#);
    let text = |name: &str| property(&format!(r#"{{"type":"string","x-mcp-header":{name}}}"#));
    let nested = |keyword: &str| {
        property(&format!(r#"{{{keyword}{{"type":"string","x-mcp-header":"A"}}}}"#))
    };
    for (schema, why) in [
        (text(r#""""#), "empty"),
        (text(r#""a b""#), "no header name"),
        (text(r#""a:b""#), "no header name"),
        (text(r#""é""#), "no header name"),
        (text(r#""a\r\nb""#), "no header name"),
        (text(r#""a\u0000""#), "no header name"),
        (text("5"), "no text"),
        (text("null"), "no text"),
        (property(r#"{"type":"number","x-mcp-header":"A"}"#), "a type other"),
        (property(r#"{"type":"object","x-mcp-header":"A"}"#), "a type other"),
        (property(r#"{"type":"array","x-mcp-header":"A"}"#), "a type other"),
        (property(r#"{"type":["string","null"],"x-mcp-header":"A"}"#), "a type other"),
        (property(r#"{"x-mcp-header":"A"}"#), "a type other"),
        (r#"{"type":"string","x-mcp-header":"A"}"#.to_owned(), "alone lead to"),
        (nested(r#""items":"#), "alone lead to"),
        (nested(r#""additionalProperties":"#), "alone lead to"),
        (nested(r#""items":{"type":"object","properties":{"q":"#) + "}}", "alone lead to"),
        (property(r#"{"anyOf":[{"type":"string","x-mcp-header":"A"}]}"#), "alone lead to"),
        (property(r#"{"if":{"properties":{"q":{"type":"string","x-mcp-header":"A"}}}}"#), "alone lead to"),
        (
            r##"{"properties":{"p":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"##
                .to_owned(),
            "alone lead to",
        ),
        (
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"Same"},
                "b":{"type":"string","x-mcp-header":"sAME"}}}"#
                .to_owned(),
            "another property has",
        ),
    ] {
        let schema = if serde_json::from_str::<&RawValue>(&schema).is_ok() { schema } else { schema + "}" };
        let error = annotations(&raw(&schema)).expect_err(&schema);
        assert!(error.contains(why), "{schema}: {error}");
    }
}

#[test]
fn a_schema_of_any_depth_is_searched_within_a_bound() {
    let deep = |levels: usize| {
        let open = r#"{"properties":{"p":"#.repeat(levels);
        let leaf = r#"{"type":"string","x-mcp-header":"A"}"#;
        raw(&format!("{open}{leaf}{}", "}}".repeat(levels)))
    };
    assert_eq!(annotations(&deep(60)).unwrap()[0].path.len(), 60);
    assert!(annotations(&deep(5000)).unwrap_err().contains("too deeply"));
}

#[test]
fn values_that_a_header_cannot_hold_are_encoded() {
    for plain in ["", "us-west1", "a b", "=?base64?", "a=?base64?eA==?=", "~!"] {
        assert_eq!(encode(plain), plain);
    }
    for (value, encoded) in [
        (" a", "=?base64?IGE=?="),
        ("a ", "=?base64?YSA=?="),
        ("a\tb", "=?base64?YQli?="),
        ("a\r\nb", "=?base64?YQ0KYg==?="),
        ("日本", "=?base64?5pel5pys?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("=?BASE64?eA==?=", "=?base64?PT9CQVNFNjQ/ZUE9PT89?="),
    ] {
        assert_eq!(encode(value), encoded);
    }
}

#[test]
fn arguments_are_mirrored_by_path_and_null_is_not() {
    let params = [
        param("S", &["s"]),
        param("I", &["o", "i"]),
        param("B", &["b"]),
        param("Null", &["n"]),
        param("Absent", &["o", "x", "y"]),
        param("Text", &["s", "i"]),
    ];
    let arguments = raw(r#"{"s":"a\u00e9","o":{"i":-7.0},"b":false,"n":null,"b":true}"#);
    assert_eq!(
        pairs(&mirrored(&params, &arguments).unwrap()),
        [("Mcp-Param-S", "=?base64?YcOp?="), ("Mcp-Param-I", "-7"), ("Mcp-Param-B", "true")]
    );
    assert_eq!(mirrored(&params, &raw("null")).unwrap(), []);
}

#[test]
fn a_value_that_other_readers_would_change_is_refused() {
    let param = [param("I", &["i"])];
    let one = |value: &str| mirrored(&param, &raw(&format!(r#"{{"i":{value}}}"#)));
    for fine in ["9007199254740991", "-9007199254740991", "0", "5"] {
        assert_eq!(pairs(&one(fine).unwrap()), [("Mcp-Param-I", fine)]);
    }
    for bad in ["9007199254740992", "-9007199254740992", "1.5", "1e400", "{}", "[]", "1e30"] {
        assert!(one(bad).unwrap_err().starts_with("the argument `i`"), "{bad}");
    }
}

#[test]
fn only_methods_with_a_name_get_one() {
    assert_eq!(
        pairs(&standard("tools/call", Some("a b "))),
        [("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?YSBiIA==?=")]
    );
    assert_eq!(pairs(&standard("tools/list", Some("x"))), [("Mcp-Method", "tools/list")]);
    assert_eq!(pairs(&standard("resources/read", None)), [("Mcp-Method", "resources/read")]);
}
