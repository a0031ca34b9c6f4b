use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Elicitation, Form, Format, Kind, accept, cancel, decline};

fn params(params: &Value) -> Box<RawValue> {
    RawValue::from_string(params.to_string()).unwrap()
}

fn form(properties: &Value, required: &Value) -> Result<Form, String> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Form::read(&params(&json!({"message": "m", "requestedSchema": schema})))
}

fn field(schema: &Value) -> super::Field {
    form(&json!({"f": schema}), &json!([])).unwrap().fields.remove(0)
}

#[test]
fn defaults_of_all_five_types_are_filled_in() {
    let read = form(
        &json!({
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
            "many": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b"]},
            "nothing": {"type": "string"},
        }),
        &json!(["name"]),
    )
    .unwrap();
    assert_eq!(
        read.defaults().unwrap(),
        r#"{"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true,"many":["b"]}"#
    );
    assert_eq!(accept(Some("{\"a\":1}")), r#"{"action":"accept","content":{"a":1}}"#);
    assert_eq!(accept(None), r#"{"action":"accept"}"#);
    assert_eq!(
        (decline(), cancel()),
        (r#"{"action":"decline"}"#.into(), r#"{"action":"cancel"}"#.into())
    );
}

#[test]
fn defaults_that_cannot_be_sent_are_an_error() {
    let cases = [
        (json!({"type": "string"}), "field `f` is required and has no value"),
        (json!({"type": "string", "default": null}), "field `f` is required and has no value"),
        (json!({"type": "string", "default": 3}), "field `f`: the value is not a text"),
        (json!({"type": "integer", "default": 1.5}), "field `f`: the value is not a whole number"),
        (json!({"type": "number", "maximum": 2, "default": 3}), "field `f`: more than 2"),
        (json!({"enum": ["a"], "default": "b"}), "field `f`: not one of `a`"),
    ];
    for (schema, reason) in cases {
        let read = form(&json!({"f": schema}), &json!(["f"])).unwrap();
        assert_eq!(read.defaults(), Err(reason.to_owned()));
    }
    let read = form(&json!({"f": {"type": "string"}}), &json!([])).unwrap();
    assert_eq!(read.defaults().unwrap(), "{}");
    let strange = json!({"g": 1});
    assert_eq!(
        read.content(strange.as_object().unwrap()),
        Err("the form has no field `g`".to_owned())
    );
}

#[test]
fn choices_come_in_five_shapes() {
    let titled = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
    let cases = [
        (json!({"type": "string", "enum": ["r", "g"]}), false, false),
        (json!({"type": "string", "oneOf": titled}), true, false),
        (json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}), true, false),
        (json!({"type": "array", "items": {"type": "string", "enum": ["r", "g"]}}), false, true),
        (json!({"type": "array", "items": {"anyOf": titled}}), true, true),
    ];
    for (schema, has_titles, several) in cases {
        let field = field(&schema);
        let choices = match &field.kind {
            Kind::One(choices) if !several => choices,
            Kind::Many { choices, .. } if several => choices,
            other => panic!("{other:?}"),
        };
        let values: Vec<_> = choices.iter().map(|c| c.value.as_str()).collect();
        assert_eq!(values, ["r", "g"]);
        assert_eq!(choices[0].title.as_deref(), has_titles.then_some("Red"));
        let wrap = |text: &str| if several { json!([text]) } else { json!(text) };
        assert_eq!(field.parse(" g ").unwrap(), wrap("g"));
        assert_eq!(field.parse("2").unwrap(), wrap("g"));
        assert_eq!(field.parse("R").unwrap(), wrap("r"));
        assert_eq!(field.parse("green").is_ok(), has_titles);
        assert_eq!(field.parse("blue"), Err("not one of `r`, `g`".to_owned()));
    }
}

#[test]
fn several_choices_are_counted_and_repeats_dropped() {
    let field = field(&json!({"type": "array", "minItems": 1, "maxItems": 2,
        "items": {"enum": ["a", "b", "c, d"]}}));
    assert_eq!(field.parse("a, b,a,").unwrap(), json!(["a", "b"]));
    assert_eq!(field.parse("c, d").unwrap(), json!(["c, d"]));
    assert_eq!(field.parse(""), Err("0 choices, at least 1 are needed".to_owned()));
    assert_eq!(field.parse("1,2,3"), Err("3 choices, at most 2 are allowed".to_owned()));
    let all = json!(["a", "b", "c, d"]);
    assert_eq!(field.check(&all), Err("3 choices, at most 2 are allowed".to_owned()));
}

#[test]
fn what_a_person_types_is_checked() {
    let text = |extra: &str| format!(r#"{{"type":"string",{extra}}}"#);
    let cases = [
        (r#"{"type":"string"}"#.to_owned(), " kept as typed ", true),
        (text(r#""minLength":2,"maxLength":3"#), "é", false),
        (text(r#""minLength":2,"maxLength":3"#), "ééé", true),
        (text(r#""minLength":2,"maxLength":3"#), "éééé", false),
        (text(r#""pattern":"^[a-z]+$""#), "abc", true),
        (text(r#""pattern":"^[a-z]+$""#), "Abc", false),
        (text(r#""pattern":"^(?=a)b""#), "beyond us, so the server decides", true),
        (text(r#""pattern":"(((a{99}){99}){99}){99}""#), "too big", true),
        (text(r#""format":"email""#), " me@example.com", true),
        (text(r#""format":"email""#), "me@example..com", false),
        (text(r#""format":"email""#), "a@b@c", false),
        (text(r#""format":"uri""#), "https://example.com/a", true),
        (text(r#""format":"uri""#), "example.com", false),
        (text(r#""format":"date""#), "2024-02-29", true),
        (text(r#""format":"date""#), "2023-02-29", false),
        (text(r#""format":"date""#), "2024-13-01", false),
        (text(r#""format":"date-time""#), "2026-07-28T09:30:00Z", true),
        (text(r#""format":"date-time""#), "2026-07-28T09:30:00.125+02:00", true),
        (text(r#""format":"date-time""#), "2026-07-28T24:00:00Z", false),
        (text(r#""format":"date-time""#), "2026-07-28T09:30:00", false),
        (text(r#""format":"date-time""#), "2026-07-28", false),
        (r#"{"type":"number","minimum":0}"#.to_owned(), "1.5e1", true),
        (r#"{"type":"number","minimum":0}"#.to_owned(), "-1", false),
        (r#"{"type":"number"}"#.to_owned(), "nan", false),
        (r#"{"type":"integer"}"#.to_owned(), "+5", true),
        (r#"{"type":"integer"}"#.to_owned(), "5.0", true),
        (r#"{"type":"integer"}"#.to_owned(), "5.5", false),
        (r#"{"type":"boolean"}"#.to_owned(), "Yes", true),
        (r#"{"type":"boolean"}"#.to_owned(), "perhaps", false),
    ];
    for (schema, typed, fine) in cases {
        let field = field(&serde_json::from_str(&schema).unwrap());
        let parsed = field.parse(typed);
        assert_eq!(parsed.is_ok(), fine, "{schema} {typed:?} {parsed:?}");
    }
    let read = field(&json!({"type": "string"}));
    assert_eq!(read.parse(" kept "), Ok(json!(" kept ")));
    let unknown = field(&json!({"type": "string", "format": "color"}));
    assert!(matches!(unknown.kind, Kind::Text { format: Some(Format::Other(_)), .. }));
}

#[test]
fn what_is_no_flat_form_is_refused() {
    let cases = [
        (json!({"type": "object", "properties": {}}), "field `f` is nested, forms are flat"),
        (
            json!({"type": "array", "items": {"type": "object"}}),
            "field `f` is a list of something other than choices",
        ),
        (json!({"type": "array"}), "field `f` is a list of something other than choices"),
        (json!({"type": ["string", "null"]}), "field `f` has no single type"),
        (json!({"anyOf": [{"type": "string"}]}), "field `f` has no type that a form can ask for"),
        (json!({"enum": [1]}), "field `f` has a choice that is not a text"),
        (json!("string"), "field `f` is no schema"),
    ];
    for (schema, reason) in cases {
        assert_eq!(form(&json!({"f": schema}), &json!([])).unwrap_err(), reason);
    }
    let unknown = form(&json!({}), &json!(["x"])).unwrap_err();
    assert_eq!(unknown, "`required` names `x`, which is no field");
    let many: serde_json::Map<_, _> =
        (0..200).map(|i| (i.to_string(), json!({"type": "string"}))).collect();
    assert_eq!(
        form(&Value::Object(many), &json!([])).unwrap_err(),
        "the form has 200 fields, over 128"
    );
    for bad in [json!({}), json!([]), json!({"message": "m"}), json!({"message": "m", "mode": "x"})]
    {
        assert!(Form::read(&params(&bad)).is_err(), "{bad}");
    }
}

#[test]
fn half_a_character_in_the_message_does_not_cost_the_form() {
    let asked = r#"{"message":"cut \ud83d","requestedSchema":{"type":"object","properties":{}}}"#;
    let read = Form::read(&RawValue::from_string(asked.to_owned()).unwrap()).unwrap();
    assert_eq!(read.message, "cut \u{fffd}");
}

#[test]
fn a_page_is_https_or_on_this_machine() {
    let cases = [
        ("https://example.com/a?b", true),
        ("http://localhost:8080/", true),
        ("http://127.0.0.1/", true),
        ("http://[::1]/", true),
        ("http://example.com/", false),
        ("http://localhost.example.com/", false),
        ("javascript:alert(1)", false),
        ("file:///etc/passwd", false),
        ("/a", false),
    ];
    for (url, fine) in cases {
        let asked =
            params(&json!({"mode": "url", "message": "m", "url": url, "elicitationId": "e"}));
        match Elicitation::read(&asked) {
            Ok(Elicitation::Url { url: read, elicitation_id, .. }) => {
                assert!(fine, "{url}");
                assert_eq!((read.as_str(), elicitation_id.as_deref()), (url, Some("e")));
            }
            other => assert!(!fine && other.is_err(), "{url} {other:?}"),
        }
        assert!(Form::read(&asked).is_err());
    }
}

#[test]
fn a_form_that_asks_for_secrets_is_flagged() {
    for name in [
        "password",
        "apiKey",
        "api-key",
        "API_KEY",
        "accessToken",
        "userPIN",
        "card number",
        "dbSecret",
    ] {
        let read =
            form(&json!({"a": {"type": "string"}, name: {"type": "string"}}), &json!([])).unwrap();
        assert!(read.asks_for_secrets() && !read.fields[0].secret, "{name}");
    }
    for name in ["name", "max_tokens", "spinner", "keyboard", "secretary"] {
        assert!(
            !form(&json!({name: {"type": "string"}}), &json!([])).unwrap().asks_for_secrets(),
            "{name}"
        );
    }
    assert!(field(&json!({"type": "string", "title": "Your passphrase"})).secret);
}
