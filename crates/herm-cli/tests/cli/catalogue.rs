//! Lists that need no process: what was listed once is offered before, beside and without its server.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use herm_testkit::{Sandbox, fake, fake_log, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON};
use crate::control::document;
use crate::serve::entry;

fn serve(sandbox: &Sandbox) -> Client {
    let mut command = sandbox.herm();
    command.arg("serve");
    Client::open(command)
}

/// The list as it is now.
fn listed(client: &mut Client) -> Vec<Value> {
    client.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn state(sandbox: &Sandbox, server: usize) -> Value {
    let (status, _) = document(sandbox, &["status"]);
    status["hosts"][0]["servers"][server].clone()
}

#[test]
fn lazy_servers_are_listed_without_one_process_and_the_first_call_works() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    let log = |name: &str| sandbox.root().join(format!("{name}.log"));
    let entries = names.iter().map(|name| entry(name, &fake("good", &log(name)), ", lazy: true"));
    sandbox.config(&format!("mcp_servers:\n{}", entries.collect::<String>()));
    let tools: Vec<String> = names.iter().map(|name| format!("mcp__{name}__echo")).collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();

    // Nothing is known of them yet: each is started once, to be listed.
    let mut first = serve(&sandbox);
    first.tools(&tools);
    assert_eq!(first.close().0.code(), Some(0));
    for name in &names {
        assert_eq!(fake_log::spawns(&log(name)), 1, "{name}");
    }

    // From then on the list is there at once, and no process is.
    let mut second = serve(&sandbox);
    let found = listed(&mut second);
    for tool in &tools {
        let one = found.iter().find(|one| one["name"] == **tool);
        assert_eq!(one.unwrap()["_meta"]["herm/freshness"], "cached", "{found:?}");
    }
    let (status, _) = document(&sandbox, &["status"]);
    for server in status["hosts"][0]["servers"].as_array().unwrap() {
        assert_eq!((&server["state"], &server["pid"]), (&json!("idle"), &Value::Null), "{server}");
        assert!(server["tools"].as_u64().unwrap() > 0, "{server}");
    }
    let answer = second.call("mcp__s3__echo", &json!({"s": "hi"}));
    assert!(answer["result"]["isError"] != json!(true), "{answer}");
    assert_eq!(fake_log::spawns(&log("s3")), 2);
    let live = listed(&mut second);
    let one = live.iter().find(|one| one["name"] == "mcp__s3__echo").unwrap();
    assert_eq!(one["_meta"]["herm/freshness"], "live");
    for name in names.iter().filter(|name| *name != "s3") {
        assert_eq!(fake_log::spawns(&log(name)), 1, "{name}");
    }
    assert_eq!(second.close().0.code(), Some(0));
}

/// A lazy server whose program is listed once as it is in one mode, and is another from then on.
fn replaced(before: &str, after: &str) -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    let (log, program) = (sandbox.root().join("log"), sandbox.root().join("server"));
    let install = |mode: &str| {
        let command = fake(mode, &log).join("' '");
        sandbox.write("server", format!("#!/bin/sh\nexec '{command}'\n"));
        fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
    };
    install(before);
    let command = [program.display().to_string()];
    sandbox.config(&format!("mcp_servers:\n{}", entry("s", &command, ", lazy: true")));
    let mut first = serve(&sandbox);
    wait_until(SOON, "it is listed", || (state(&sandbox, 0)["state"] == "ready").then_some(()));
    assert!(!listed(&mut first).is_empty());
    assert_eq!(first.close().0.code(), Some(0));
    install(after);
    (sandbox, log)
}

/// A tool that was gone was called at the server, and its error told.
#[test]
fn a_call_of_a_tool_that_is_gone_says_so() {
    let (sandbox, log) = replaced("calls", "good"); // which has no `wait`
    let mut client = serve(&sandbox);
    let wait = |tools: &[Value]| tools.iter().any(|tool| tool["name"] == "mcp__s__wait");
    assert!(wait(&listed(&mut client)));
    let answer = client.call("mcp__s__wait", &json!({"ms": "1"})).to_string();
    assert!(answer.contains("'s' does not offer `mcp__s__wait` any more"), "{answer}");
    assert!(answer.contains("Do not retry") && answer.contains("not_found"), "{answer}");
    assert!(!wait(&listed(&mut client)), "it is withdrawn");
    assert!(!fs::read_to_string(&log).unwrap().contains("\"wait\""), "the server was not asked");
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn a_tool_that_is_newer_than_the_kept_list_is_found_all_the_same() {
    let (sandbox, _) = replaced("good", "calls");
    let mut client = serve(&sandbox);
    let answer = client.call("mcp__s__wait", &json!({"ms": "1"}));
    assert_eq!(answer["result"]["content"][0]["text"], "waited", "{answer}");
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn a_server_that_is_down_keeps_its_tools_and_says_how_fresh_they_are() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let program = sandbox.root().join("server");
    let write = |text: String| {
        sandbox.write("server", text);
        fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
    };
    let command = fake("good", &log).join("' '");
    write(format!("#!/bin/sh\nexec '{command}'\n"));
    let entry = entry("s", &[program.display().to_string()], ", supervision: {park_after: 1}");
    sandbox.config(&format!("mcp_servers:\n{entry}"));
    let mut first = serve(&sandbox);
    first.tools(&["mcp__s__echo"]);
    assert_eq!(first.close().0.code(), Some(0));
    write("#!/bin/sh\nexit 3\n".to_owned());
    let mut second = serve(&sandbox);
    wait_until(SOON, "it is parked", || (state(&sandbox, 0)["state"] == "parked").then_some(()));
    let found = listed(&mut second);
    let echo = found.iter().find(|one| one["name"] == "mcp__s__echo").unwrap();
    assert_eq!(echo["_meta"]["herm/freshness"], "parked");
    assert_eq!(state(&sandbox, 0)["freshness"], "parked");
    assert_eq!(second.close().0.code(), Some(0));
}

/// With the token of one tenant, the list of another was shown.
#[test]
fn another_value_of_a_variable_is_another_list() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let more = ", lazy: true, env: {TOKEN: '${MY_TOKEN}'}";
    sandbox.config(&format!("mcp_servers:\n{}", entry("s", &fake("good", &log), more)));
    for (token, spawns) in [("one", 1), ("two", 2), ("one", 2)] {
        sandbox.write("herm/.env", format!("MY_TOKEN={token}\n"));
        let mut client = serve(&sandbox);
        client.tools(&["mcp__s__echo"]);
        assert_eq!(client.close().0.code(), Some(0));
        assert_eq!(fake_log::spawns(&log), spawns, "{token}");
    }
}

#[test]
fn what_the_reference_system_has_kept_is_offered_until_the_server_is_listed() {
    let sandbox = Sandbox::new();
    sandbox.config(
        "mcp_servers:\n  x: {command: npx, args: [-y, xactions-mcp], lazy: true}\n  \
         other: {command: npx, args: [-y, other], lazy: true, enabled: false}\n",
    );
    let tools = json!([{"name": "post", "description": "d", "inputSchema": {"type": "object"}}]);
    let kept = json!({
        "x": {"fingerprint": "b041845356ebe668", "ttl_ms": 0, "tools": tools},
        "gone": {"fingerprint": "38953fe0cbe0ee5f", "tools": []},
    });
    sandbox.write("herm/cache/mcp_schema_cache.json", kept.to_string());
    for _ in 0..2 {
        let mut client = serve(&sandbox);
        let found = listed(&mut client);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["name"], "mcp__x__post");
        // It does not say when it was listed.
        assert_eq!(found[0]["_meta"]["herm/freshness"], "stale");
        assert_eq!(state(&sandbox, 0)["state"], "idle");
        assert_eq!(client.close().0.code(), Some(0));
        // Ours from now on.
        sandbox.write("herm/cache/mcp_schema_cache.json", "{}");
    }
}
