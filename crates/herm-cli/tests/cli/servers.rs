//! `test`, `tools` and `call` on the real servers, over every transport; `tests/setup` installs them.

use std::fmt::Write as _;

use herm_testkit::real::{EverythingHttp, Python};
use herm_testkit::{Sandbox, fake_http, real};
use serde_json::{Value, json};

/// One entry for a command line.
fn child(name: &str, command: &[String]) -> String {
    format!("  {name}: {}\n", json!({"command": command[0], "args": command[1..]}))
}

/// Runs `herm --json`; its document and its exit code.
fn herm(sandbox: &Sandbox, words: &[&str]) -> (Value, Option<i32>) {
    let output = sandbox.herm().arg("--json").args(words).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr);
    let document =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {shown}"));
    (document, output.status.code())
}

#[test]
fn every_real_server_is_tested_listed_and_called() {
    let sandbox = Sandbox::new();
    let files = sandbox.write("files/note.txt", "a note");
    let folder = files.parent().unwrap();
    let streamable = real::everything_http(&sandbox, EverythingHttp::Streamable);
    let sse = real::everything_http(&sandbox, EverythingHttp::Sse);
    let mut config = "mcp_servers:\n".to_owned();
    config += &child("everything", &real::everything());
    config += &child("files", &real::filesystem(folder));
    writeln!(config, "  streamable: {{url: '{}'}}", streamable.url()).unwrap();
    writeln!(config, "  sse: {{url: '{}'}}", sse.url()).unwrap();
    let pythons = [("mcp1", Python::Mcp1), ("mcp2", Python::Mcp2), ("fastmcp4", Python::FastMcp4)];
    let mut served = Vec::new();
    for (name, kind) in pythons {
        config += &child(name, &real::python(kind));
        let server = real::python_http(&sandbox, kind);
        writeln!(config, "  {name}-http: {{url: '{}'}}", server.url()).unwrap();
        served.push(server);
    }
    sandbox.config(&config);

    let (tested, code) = herm(&sandbox, &["test"]);
    assert_eq!((tested["ok"].as_bool(), code), (Some(true), Some(0)), "{tested:#}");
    assert_eq!(tested["servers"].as_array().unwrap().len(), 10);

    let (tools, code) = herm(&sandbox, &["tools"]);
    assert_eq!(code, Some(0), "{tools:#}");
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"mcp__fastmcp4_http__add"), "{names:?}");

    let path = format!("path={}", files.display());
    for (tool, arguments, said) in [
        ("everything.echo", vec!["message=hi"], "Echo: hi"),
        ("streamable.echo", vec!["message=hi"], "Echo: hi"),
        ("mcp__sse__echo", vec!["message=hi"], "Echo: hi"),
        ("files.read_text_file", vec![path.as_str()], "a note"),
        ("mcp1.add", vec!["a=2", "b=3"], "5"),
        ("mcp1-http.add", vec!["a=2", "b=3"], "5"),
        ("mcp2.add", vec!["a=2", "b=3"], "5"),
        ("mcp2-http.add", vec!["a=2", "b=3"], "5"),
        ("fastmcp4.add", vec!["a=2", "b=3"], "5"),
        ("mcp__fastmcp4_http__add", vec!["a=2", "b=3"], "5"),
    ] {
        let words = [&["call", tool], &arguments[..]].concat();
        let (called, code) = herm(&sandbox, &words);
        assert_eq!(code, Some(0), "{tool}: {called:#}");
        assert_eq!(called["result"]["content"][0]["text"], said, "{tool}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_asked_for_what_is_not_on_this_machine() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("proxy.log");
    let proxy = fake_http(&sandbox, "good", &[], &log);
    let origin = proxy.url().trim_end_matches("/mcp").to_owned();
    sandbox.config("mcp_servers:\n  far: {url: 'http://mcp.example.test/mcp', transport: http}\n");
    let output =
        sandbox.herm().env("http_proxy", origin).args(["call", "far.echo", "s=x"]).output();
    let output = output.unwrap();
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "x\n", "{shown}");
    let seen = std::fs::read_to_string(&log).unwrap();
    assert!(seen.contains("http://mcp.example.test/mcp"), "{seen}");
}
