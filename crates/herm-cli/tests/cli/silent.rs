//! A program that is no MCP server, or does not come to answering: what it said is told.

use std::os::unix::fs::PermissionsExt;

use herm_testkit::Sandbox;

use crate::client::{Client, SOON};
use crate::control::{document, run};

const SCRIPT: &str = "#!/bin/sh
echo 'Welcome to my server'
echo 'waiting for the license server' >&2
exec sleep 600
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let script = sandbox.write("script", SCRIPT);
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.config(&format!(
        "mcp_servers:\n  mute: {{command: '{}', connect_timeout: 1}}\n",
        script.display()
    ));
    sandbox
}

/// "No answer to `initialize`" was all that a person heard.
#[test]
fn a_start_without_an_answer_tells_what_the_program_said_instead() {
    let sandbox = sandbox();
    let (out, err, code) = run(&sandbox, &["test", "mute"]);
    let said = format!("{out}{err}");
    assert_eq!(code, Some(1), "{said}");
    for part in [
        "no answer to `initialize` within 1 s",
        "1 line of its output was no message, the first: `Welcome to my server`",
        "waiting for the license server",
        "its output is for messages only",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

#[test]
fn a_host_shows_it_too() {
    let sandbox = sandbox();
    let mut command = sandbox.herm();
    command.arg("serve");
    let client = Client::open(command);
    let reason = herm_testkit::wait_until(SOON, "the start has failed", || {
        let (status, _) = document(&sandbox, &["status"]);
        status["hosts"][0]["servers"][0]["reason"]["text"].as_str().map(str::to_owned)
    });
    assert!(reason.contains("Welcome to my server"), "{reason}");
    assert!(reason.contains("its last words: waiting for the license server"), "{reason}");
    assert_eq!(client.close().0.code(), Some(0));
}
