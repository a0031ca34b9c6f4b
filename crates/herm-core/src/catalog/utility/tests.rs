use serde_json::Value;

use super::*;

fn raw(json: &str) -> Raw {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn shown(made: Result<Raw, String>) -> String {
    made.map_or_else(|why| why, |raw| raw.get().to_owned())
}

fn items(count: usize, padding: usize) -> Vec<ItemView> {
    let padding = "x".repeat(padding);
    let item = |at| format!(r#"{{"uri":"a:{at}","of-a-later-revision":1e400,"p":"{padding}"}}"#);
    (0..count).map(|at| view::item(&raw(&item(at)), "uri").unwrap()).collect()
}

#[test]
fn every_definition_is_complete_and_names_its_server() {
    let server: ServerName = "a\"b".parse().unwrap();
    for utility in Utility::ALL {
        let tool = tool(utility, &server).unwrap();
        assert_eq!((tool.name.as_str(), tool.read_only), (utility.as_str(), Some(true)));
        assert!(tool.description.unwrap().contains("MCP server 'a\"b'"));
        let schema: Value = serde_json::from_str(tool.input_schema.unwrap().get()).unwrap();
        assert_eq!(schema["type"], "object");
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(schema["properties"][required.as_str().unwrap()].is_object(), "{schema}");
        }
        let judged = crate::catalog::schema::judge(Some(&raw(&schema.to_string())));
        assert!(matches!(judged, crate::catalog::schema::Judged::AsWritten), "{judged:?}");
    }
}

#[test]
fn bad_arguments_are_told_before_anything_is_sent() {
    use Utility::{GetPrompt, ListPrompts, ListResources, ReadResource};
    for (utility, arguments, why) in [
        (ReadResource, "{}", "`uri` is missing"),
        (ReadResource, r#"{"uri":null}"#, "`uri` is missing"),
        (ReadResource, r#"{"uri":["a"]}"#, "`uri` is no text"),
        (GetPrompt, r#"{"arguments":{}}"#, "`name` is missing"),
        (GetPrompt, r#"{"name":"p","arguments":"{}"}"#, "`arguments` is no object"),
        (ListResources, r#"{"offset":-1}"#, "`offset` is no whole number"),
        (ListPrompts, r#"{"offset":"1"}"#, "`offset` is no whole number"),
    ] {
        let refused = asked(utility, arguments).unwrap_err();
        assert!(refused.contains(why), "{arguments}: {refused}");
    }
    assert!(matches!(asked(ListPrompts, r#"{"offset":2.0,"x":1}"#), Ok(Asked::Prompts(2))));
    assert!(matches!(asked(ListResources, r#"{"offset":null}"#), Ok(Asked::Resources(0))));
}

#[test]
fn arguments_of_a_prompt_become_texts() {
    let given =
        r#"{"name":"p","arguments":{"t":"\u00e9","n":1.0,"o":{"k" : [1]},"z":null,"b":true}}"#;
    let Ok(Asked::Prompt(name, Some(arguments))) = asked(Utility::GetPrompt, given) else {
        panic!("{given}")
    };
    assert_eq!(name, "p");
    assert_eq!(arguments.get(), r#"{"t":"\u00e9","n":"1.0","o":"{\"k\":[1]}","b":"true"}"#);
    let without = asked(Utility::GetPrompt, r#"{"name":"p","arguments":null}"#);
    assert!(matches!(without, Ok(Asked::Prompt(_, None))), "{without:?}");
}

/// The `structuredContent` of a portion, which is also its only text.
fn told(lists: &[(&str, &[ItemView])], offset: usize) -> Value {
    let portion = portion(lists, offset).unwrap();
    let result: Value = serde_json::from_str(&portion.get().replace("1e400", "7")).unwrap();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    result["structuredContent"].clone()
}

#[test]
fn a_list_is_given_in_portions_and_nothing_of_it_is_lost() {
    let (resources, templates) = (items(250, 0), items(3, 0));
    let lists = [("resources", &resources[..]), ("resourceTemplates", &templates[..])];
    let (mut offset, mut seen) = (0, 0);
    loop {
        let told = told(&lists, offset);
        let count = |key: &str| told[key].as_array().unwrap().len();
        seen += count("resources") + count("resourceTemplates");
        match told["nextOffset"].as_u64() {
            Some(next) => offset = usize::try_from(next).unwrap(),
            None => break,
        }
    }
    assert_eq!((seen, offset), (253, 200));
    assert_eq!(told(&lists, 251)["resourceTemplates"].as_array().unwrap().len(), 2);
    let behind = told(&lists, usize::MAX);
    assert_eq!(behind, serde_json::json!({"resources": [], "resourceTemplates": []}));
    let first = portion(&[("resources", &resources[..1])], 0).unwrap();
    assert!(first.get().contains(r#"{"uri":"a:0","of-a-later-revision":1e400,"p":""}"#));
    assert!(!first.get().contains("nextOffset"));
}

#[test]
fn large_entries_make_a_portion_end_early_but_never_empty() {
    let large = items(3, PORTION_BYTES);
    for offset in 0..3 {
        let told = told(&[("resources", &large)], offset);
        assert_eq!(told["resources"].as_array().unwrap().len(), 1);
        assert_eq!(told["nextOffset"].as_u64(), [Some(1), Some(2), None][offset]);
    }
}

#[test]
fn contents_of_a_resource_pass_as_they_are() {
    let answer = raw(
        r#"{"resultType":"complete","contents":[{"uri":"a:1","text":"t\u00e9","n":1e400},
            {"uri":"a:2","blob":"aGk=","_meta":{"k":1}},7],"_meta":{"x":[ 1 ]},"isError":true,"ttlMs":5}"#,
    );
    assert_eq!(
        shown(contents(&answer)),
        concat!(
            r#"{"content":[{"type":"resource","resource":{"uri":"a:1","text":"t\u00e9","n":1e400}},"#,
            r#"{"type":"resource","resource":{"uri":"a:2","blob":"aGk=","_meta":{"k":1}}},"#,
            r#"{"type":"text","text":"7"}],"resultType":"complete","_meta":{"x":[1]},"ttlMs":5}"#
        )
    );
    assert_eq!(shown(contents(&raw(r#"{"contents":[]}"#))), r#"{"content":[]}"#);
    for odd in ["{}", r#"{"contents":{}}"#, r#"{"contents":null}"#] {
        assert!(contents(&raw(odd)).unwrap_err().contains("no `contents` array"), "{odd}");
    }
}

#[test]
fn messages_of_a_prompt_keep_their_roles_and_their_blocks() {
    let answer = raw(
        r#"{"description":"d","messages":[{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}},
            {"role":"assistant","content":[{"type":"text","text":"a"},"b"],"x":1.0},{"role":"user"},5]}"#,
    );
    assert_eq!(
        shown(messages(&answer)),
        concat!(
            r#"{"content":[{"type":"text","text":"user:","_meta":{"herm/message":{"role":"user"}}},"#,
            r#"{"type":"image","data":"aGk=","mimeType":"image/png"},"#,
            r#"{"type":"text","text":"assistant:","_meta":{"herm/message":{"role":"assistant","x":1.0}}},"#,
            r#"{"type":"text","text":"a"},{"type":"text","text":"b"},"#,
            r#"{"type":"text","text":"user:","_meta":{"herm/message":{"role":"user"}}},"#,
            r#"{"type":"text","text":"5"}],"description":"d"}"#
        )
    );
    assert!(messages(&raw("{}")).unwrap_err().contains("no `messages` array"));
}
