//! The utilities over resources and prompts are tools like any other on the command line.

use std::fmt::Write as _;

use herm_testkit::{Sandbox, fake};
use serde_json::{Value, json};

fn herm(sandbox: &Sandbox, words: &[&str]) -> (String, String, Option<i32>) {
    let output = sandbox.herm().args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn they_are_listed_called_and_refused_like_tools() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let mut config = "mcp_servers:\n".to_owned();
    for (name, script) in [("shelf", "library"), ("plain", "good")] {
        let command = fake(script, &log);
        let entry = json!({"command": command[0], "args": command[1..]});
        writeln!(config, "  {name}: {entry}").unwrap();
    }
    sandbox.config(&config);

    let (out, err, code) = herm(&sandbox, &["--json", "tools", "--schema"]);
    assert_eq!(code, Some(0), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let tools = document["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let ours = ["list_resources", "read_resource", "get_prompt"];
    let mut expected = vec!["mcp__shelf__echo".to_owned(), "mcp__shelf__List_Prompts".to_owned()];
    expected.extend(ours.map(|name| format!("mcp__shelf__{name}")));
    expected.push("mcp__plain__echo".to_owned());
    assert_eq!(names, expected);
    assert_eq!(tools[3]["definition"]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[3]["definition"]["inputSchema"]["required"], json!(["uri"]));
    assert_eq!(document["hidden"], json!([]));

    let (out, err, code) = herm(&sandbox, &["call", "mcp__shelf__read_resource", "uri=a:1"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("one\n"), "{out}");
    let words = ["call", "shelf.get_prompt", "name=p", r#"arguments:={"n":1}"#];
    let (out, err, _) = herm(&sandbox, &words);
    assert_eq!(out, "user:\n{\"n\":\"1\"}\n", "{err}");
    let (out, err, _) = herm(&sandbox, &["call", "shelf.list_resources", "offset=1"]);
    assert!(out.contains("a:{n}") && !out.contains("a:1"), "{out}{err}");

    for (tool, code, part) in [
        ("shelf.read_resource", 2, "`uri` is missing"),
        ("plain.read_resource", 3, "does not advertise any"),
        ("shelf.list_prompts", 3, "a tool of the server has this name"),
    ] {
        let (out, err, ended) = herm(&sandbox, &["call", tool]);
        assert_eq!((ended, &*out), (Some(code), ""), "{tool}: {err}");
        assert!(err.contains(part), "{tool}: {err}");
    }
    // A test is of the server: it tells what the server has.
    let (out, err, code) = herm(&sandbox, &["test", "shelf"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("Tools discovered: 2") && !out.contains("read_resource"), "{out}");
}
