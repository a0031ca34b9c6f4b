//! `herm cache`: what is kept, and its removal.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use herm_testkit::{Sandbox, fake, fake_log};
use serde_json::{Value, json};

use crate::control::{document, run};
use crate::kept::{Home, each, freshness};

#[test]
fn what_was_cleared_is_listed_anew() {
    let home = Home::new("");
    document(&home.sandbox, &["tools"]);
    let (said, _, code) = run(&home.sandbox, &["cache", "list"]);
    let heads = ["Name", "Fingerprint", "Tools", "Era", "Age", "Size"];
    assert!(heads.iter().all(|head| said.lines().next().unwrap().contains(head)), "{said}");
    assert_eq!((said.lines().count(), code), (3, Some(0)), "{said}");
    assert!(said.contains("handshake") && said.contains("KiB"), "{said}");

    let (said, _, code) = run(&home.sandbox, &["cache", "clear", "a"]);
    assert!(said.starts_with("removed what was kept of a: 1 file, "), "{said}");
    assert_eq!((code, home.files().len()), (Some(0), 1));
    let (tools, _) = document(&home.sandbox, &["tools"]);
    assert_eq!((freshness(&tools), home.starts()), (each("live", "cached"), (2, 1)));

    // One that is configured no longer is known by the index.
    home.configure(&["b"], "");
    let (said, _, _) = run(&home.sandbox, &["cache", "list"]);
    assert!(said.contains("not configured"), "{said}");
    let (said, err, code) = run(&home.sandbox, &["cache", "clear", "aa"]);
    assert_eq!((said.as_str(), code), ("", Some(3)), "{err}");
    assert!(
        err.contains("no server is called `aa`")
            && err.contains("did you mean `a`? `herm cache list`"),
        "{err}"
    );
    assert_eq!(run(&home.sandbox, &["cache", "clear", "a"]).2, Some(0));
    assert_eq!(run(&home.sandbox, &["cache", "clear", "a"]).2, Some(3), "now it is unknown");

    let (said, _, _) = run(&home.sandbox, &["cache", "clear"]);
    assert!(said.contains("of b: 1 file"), "{said}");
    assert!(home.files().is_empty());
    let (said, err, code) = run(&home.sandbox, &["cache", "clear", "b"]);
    assert_eq!((said.as_str(), err.as_str(), code), ("", "nothing was kept of `b`\n", Some(0)));
    assert_eq!(run(&home.sandbox, &["cache", "list"]).1, "nothing is kept\n");
}

/// The reference's cache brought back what a person had just removed.
#[test]
fn what_the_reference_system_keeps_is_not_taken_over_again_after_a_clear() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("x.log");
    let npx = sandbox.write("bin/npx", "");
    let server = fake("good", &log).join("' '");
    fs::write(&npx, format!("#!/bin/sh\nexec '{server}'\n")).unwrap();
    fs::set_permissions(&npx, PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.config("mcp_servers:\n  x: {command: npx, args: [-y, xactions-mcp]}\n");
    let tools = json!([{"name": "post", "description": "d", "inputSchema": {"type": "object"}}]);
    let kept = json!({"x": {"fingerprint": "b041845356ebe668", "ttl_ms": 0, "tools": tools}});
    sandbox.write("herm/cache/mcp_schema_cache.json", kept.to_string());
    let tools = || {
        let mut herm = sandbox.herm();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", npx.parent().unwrap().display());
        let output = herm.args(["--json", "tools"]).env("PATH", path).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["tools"][0].clone()
    };
    let adopted = tools();
    assert_eq!(adopted["name"], "mcp__x__post");
    assert_eq!((&adopted["freshness"], &adopted["listed_at"]), (&json!("stale"), &Value::Null));
    assert_eq!(fake_log::spawns(&log), 0);
    let (said, _, _) = run(&sandbox, &["tools", "x"]);
    assert!(said.starts_with("x: 1 tools (stale)"), "{said}");
    assert_eq!(run(&sandbox, &["cache", "clear", "x"]).2, Some(0));
    assert_eq!(tools()["name"], "mcp__x__echo");
    assert_eq!(fake_log::spawns(&log), 1);
}
