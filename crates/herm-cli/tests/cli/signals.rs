//! A command that is told to end: its servers end first, and the status says why.

use std::process::{Command, Stdio};
use std::time::Duration;

use herm_testkit::{processes_with, wait_until};

use crate::sandbox::Sandbox;

const LIMIT: Duration = Duration::from_secs(20);

/// Runs `herm test` on a server that never answers, and sends a signal once the server runs.
fn signalled(signal: &str) -> String {
    let sandbox = Sandbox::new();
    let marker = sandbox.path("started").display().to_string();
    sandbox.write(
        "home/config.yaml",
        format!(
            "mcp_servers:\n  mute:\n    command: sh\n    args: [-c, 'echo > {marker}; exec tail -f {marker}']\n"
        )
        .as_bytes(),
    );
    let child = sandbox
        .command()
        .args(["--json", "test"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(LIMIT, "the server starts", || sandbox.path("started").exists().then_some(()));
    kill(signal, child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
    sandbox.shown(&output)
}

#[expect(clippy::disallowed_methods, reason = "a tool of the test, not a server")]
fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn an_interrupted_command_leaves_no_server_behind() {
    insta::assert_snapshot!(signalled("-INT"), @r#"
    --- stdout
    {"v":1,"error":{"kind":"interrupted","message":"interrupted","server":null,"tool":null,"hint":null,"retry_after_ms":null}}
    --- stderr
    error: interrupted
    --- exit 130
    "#);
}

#[test]
fn a_terminated_command_leaves_no_server_behind() {
    insta::assert_snapshot!(signalled("-TERM"), @r#"
    --- stdout
    {"v":1,"error":{"kind":"interrupted","message":"terminated","server":null,"tool":null,"hint":null,"retry_after_ms":null}}
    --- stderr
    error: terminated
    --- exit 143
    "#);
}

#[test]
fn a_closed_terminal_leaves_no_server_behind() {
    insta::assert_snapshot!(signalled("-HUP"), @r#"
    --- stdout
    {"v":1,"error":{"kind":"interrupted","message":"terminated","server":null,"tool":null,"hint":null,"retry_after_ms":null}}
    --- stderr
    error: terminated
    --- exit 143
    "#);
}
