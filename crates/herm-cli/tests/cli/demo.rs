//! The whole way, on the server that is part of the program.

use crate::sandbox::Sandbox;

/// Times differ from run to run.
fn without_times(shown: &str) -> String {
    let mut out = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        out.push_str(before);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (digits, behind) = number.split_at(end);
        let is_time = behind.starts_with(" ms") || before.ends_with("\"ms\":");
        out.push_str(if is_time { "N" } else { digits });
        rest = behind;
    }
    out + rest
}

#[test]
fn the_demo_needs_nothing() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(without_times(&sandbox.run(&["demo"])), @"");
    insta::assert_snapshot!(without_times(&sandbox.run(&["--json", "demo"])), @"");
}

/// A configuration whose one server is our own.
fn demo_server() -> Sandbox {
    let herm = env!("CARGO_BIN_EXE_herm");
    Sandbox::with(&format!("mcp_servers:\n  demo:\n    command: {herm}\n    args: [demo-server]\n"))
}

#[test]
fn every_command_works_on_a_real_server() {
    let sandbox = demo_server();
    insta::assert_snapshot!(without_times(&sandbox.run(&["test"])), @"");
    insta::assert_snapshot!(without_times(&sandbox.run(&["test", "--json"])), @"");
    insta::assert_snapshot!(sandbox.run(&["tools"]), @"");
    insta::assert_snapshot!(sandbox.run(&["tools", "--json", "--schema"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "demo.add", "a=1.5", "b=2"]), @"");
    insta::assert_snapshot!(
        without_times(&sandbox.run(&["--json", "call", "mcp__demo__greet", "name=5"])), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "demo.add", "a=one"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "demo.greet"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "demo.gret", "--args", "{}"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--json", "resources"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--json", "prompts"]), @"");
    insta::assert_snapshot!(sandbox.run(&["read", "file:///x"]), @"");
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let sandbox = Sandbox::with(
        "mcp_servers:\n  gone:\n    command: no-such-server\n  dead:\n    command: sh\n    args: [-c, 'echo no module named mcp >&2; exit 3']\n",
    );
    insta::assert_snapshot!(without_times(&sandbox.run(&["test"])), @"");
    insta::assert_snapshot!(without_times(&sandbox.run(&["test", "--json", "dead"])), @"");
    insta::assert_snapshot!(sandbox.run(&["--json", "call", "dead.x", "a=1"]), @"");
    insta::assert_snapshot!(sandbox.run(&["tools"]), @"");
}
