use super::*;

fn raw(json: &str) -> Raw {
    RawValue::from_string(json.to_owned()).unwrap()
}

#[test]
fn a_page_keeps_its_items_as_written() {
    let page = page(
        &raw(r#"{"tools":[{"b":1.0,"a":[ ]},5,null],"nextCursor":"","ttlMs":3e5,"cacheScope":"public"}"#),
        "tools",
    )
    .unwrap();
    let items: Vec<_> = page.items.iter().map(|raw| raw.get()).collect();
    assert_eq!(items, [r#"{"b":1.0,"a":[ ]}"#, "5", "null"]);
    assert_eq!(page.next.as_deref(), Some(""), "an empty cursor goes on");
    assert_eq!((page.ttl_ms, page.cache_scope.as_deref()), (Some(300_000), Some("public")));
}

#[test]
fn only_an_absent_or_null_cursor_ends_a_list() {
    for end in [r#"{"tools":[]}"#, r#"{"tools":[],"nextCursor":null,"ttlMs":"x"}"#] {
        assert_eq!(page(&raw(end), "tools").unwrap().next, None);
    }
    for (json, why) in [
        (r#"{"tools":[],"nextCursor":5}"#, "`nextCursor` is no text"),
        (r#"{"tools":{}}"#, "the result has no `tools` array"),
        ("{}", "the result has no `tools` array"),
        ("[]", "the result is no object"),
    ] {
        assert_eq!(page(&raw(json), "tools").unwrap_err(), why);
    }
}

#[test]
fn a_tool_with_odd_members_is_still_a_tool() {
    let json = r#"{"name":"t","description":null,"annotations":[1],"inputSchema":"object",
        "outputSchema":true,"execution":7,"title":5,"big":1e400}"#;
    let view = tool(&raw(json)).unwrap();
    assert_eq!(view.name, "t");
    assert_eq!((view.title, view.description, view.read_only), (None, None, None));
    assert_eq!(view.input_schema.unwrap().get(), r#""object""#, "for the judge to refuse");
    assert!(view.task_support.is_none());
    assert_eq!(view.output_schema.unwrap().get(), "true");
    assert_eq!(view.raw.get(), json);
}

#[test]
fn a_tool_says_what_it_says() {
    let view = tool(&raw(
        r#"{"annotations":{"title":"B","readOnlyHint":true,"destructiveHint":"no","idempotentHint":false},
        "name":"a\u00e9\ud83d","description":"d","inputSchema":{"type" : "object"},
        "outputSchema":null,"execution":{"taskSupport":"required"}}"#,
    ))
    .unwrap();
    assert_eq!(view.name, "aé\u{fffd}", "a lone surrogate is mended");
    assert_eq!(view.title.as_deref(), Some("B"));
    assert_eq!(
        (view.read_only, view.destructive, view.idempotent),
        (Some(true), None, Some(false))
    );
    assert_eq!(view.input_schema.unwrap().get(), r#"{"type" : "object"}"#);
    assert!(view.output_schema.is_none());
    assert_eq!(view.task_support.as_deref(), Some("required"));
    let both = tool(&raw(r#"{"name":"t","title":"A","annotations":{"title":"B"}}"#)).unwrap();
    assert_eq!(both.title.as_deref(), Some("A"));
}

#[test]
fn a_tool_without_a_name_is_none() {
    for json in ["{}", r#"{"name":""}"#, r#"{"name":5}"#, r#"{"name":null}"#] {
        assert_eq!(tool(&raw(json)).unwrap_err(), "the tool has no name", "{json}");
    }
    assert_eq!(tool(&raw("null")).unwrap_err(), "the tool is no object");
}

#[test]
fn items_are_found_by_their_key() {
    let json = raw(r#"{"uri":"x://a","name":"n","title":1,"description":"d"}"#);
    let view = item(&json, "uri").unwrap();
    assert_eq!((&*view.id, view.name.as_deref(), view.title), ("x://a", Some("n"), None));
    assert_eq!(item(&json, "name").unwrap().id, "n");
    assert_eq!(item(&json, "uriTemplate").unwrap_err(), "the item has no `uriTemplate` text");
    assert_eq!(item(&raw("5"), "uri").unwrap_err(), "the item is no object");
}

#[test]
fn an_initialize_result_needs_only_its_version() {
    let opened = initialized(&raw(
        r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":true,"resources":null},
        "serverInfo":{"name":"s"},"instructions":"i"}"#,
    ))
    .unwrap();
    assert_eq!(opened.version.as_deref(), Some("2025-06-18"));
    assert!(opened.offers("tools"));
    assert!(!opened.offers("prompts") && !opened.offers("resources") && !opened.offers("x"));
    assert_eq!(opened.server_info.unwrap().get(), r#"{"name":"s"}"#);
    assert_eq!(opened.instructions.as_deref(), Some("i"));
    let bare = initialized(&raw(r#"{"protocolVersion":"1","capabilities":[]}"#)).unwrap();
    assert!(bare.capabilities.is_none() && !bare.offers("tools"));
    for none in ["{}", r#"{"protocolVersion":5}"#, "null", "[]"] {
        assert!(initialized(&raw(none)).is_err(), "{none}");
    }
}

#[test]
fn a_discover_result_names_revisions_and_may_name_itself_in_either_place() {
    let opened = discovered(&raw(
        r#"{"supportedVersions":["2025-06-18",5,"2099-01-01","2026-07-28"],"serverInfo":{"name":"body"},
        "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"meta"}}}"#,
    ))
    .unwrap();
    assert_eq!(opened.supported, ["2025-06-18", "2099-01-01", "2026-07-28"]);
    assert_eq!(opened.mutual(), [Revision::V2026_07_28, Revision::V2025_06_18]);
    assert_eq!(opened.server_info.unwrap().get(), r#"{"name":"meta"}"#);
    let old = discovered(&raw(r#"{"supportedVersions":[],"serverInfo":{}}"#)).unwrap();
    assert_eq!(old.server_info.unwrap().get(), "{}");
    for none in ["{}", r#"{"supportedVersions":"2026-07-28"}"#, "null"] {
        assert!(discovered(&raw(none)).is_err(), "{none}");
    }
}

#[test]
fn an_error_may_name_the_revisions_that_it_wants() {
    let named = |json| supported_in(&raw(json));
    assert_eq!(named(r#"{"supported":["a",1,"b"],"requested":"c"}"#), ["a", "b"]);
    for none in ["{}", r#"{"supported":"a"}"#, "null", "5", r#"["a"]"#] {
        assert!(named(none).is_empty(), "{none}");
    }
}

#[test]
fn only_a_list_that_is_said_to_change_is_listened_to() {
    let opened = |capabilities: &str| {
        let result = format!(r#"{{"supportedVersions":[],"capabilities":{capabilities}}}"#);
        discovered(&raw(&result)).unwrap()
    };
    assert!(opened(r#"{"tools":{"listChanged":true}}"#).announces("tools"));
    for silent in ["{}", r#"{"tools":{}}"#, r#"{"tools":{"listChanged":false}}"#, r#"{"tools":1}"#]
    {
        assert!(!opened(silent).announces("tools"), "{silent}");
    }
}

#[test]
fn a_subscription_is_known_by_our_id_however_it_is_written() {
    let of = |id: &str| {
        let params = format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#);
        subscription(&raw(&params))
    };
    assert_eq!((of("7"), of(r#""7""#), of("7.0")), (Some(7), Some(7), Some(7)));
    assert_eq!((of("-7"), of("null"), of(r#""x""#)), (None, None, None));
    assert_eq!(subscription(&raw("{}")), None);
    assert_eq!(cancelled(&raw(r#"{"requestId":3}"#)), Some(3));
}
