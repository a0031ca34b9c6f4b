//! Words that make no command.

use crate::sandbox::Sandbox;

#[test]
fn a_usage_error_is_two_and_with_json_a_document() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["lits"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--json", "call"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "a.b", "novalue"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "a.b", "--timeout", "-1"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--json", "call", "a.b", "--args", "[]"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "a.b", "--args", "@/no/such"]), @"");
    assert_eq!(sandbox.output(&[]).status.code(), Some(2));
}

#[test]
fn the_alias_of_the_reference_reaches_every_command() {
    let sandbox = Sandbox::with("mcp_servers: {}");
    assert_eq!(sandbox.run(&["mcp", "list"]), sandbox.run(&["list"]));
    insta::assert_snapshot!(sandbox.run(&["mcp", "serve", "-v"]), @"");
}

#[test]
fn help_and_completions_are_data() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["--help"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "--help"]), @"");
    for shell in ["bash", "zsh", "fish"] {
        let output = sandbox.output(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("resources") && !script.is_empty(), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_a_quiet_end() {
    let sandbox = Sandbox::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = sandbox.command().args(["completions", "bash"]).stdout(writer).output().unwrap();
    insta::assert_snapshot!(sandbox.shown(&output), @"--- exit 0");
}
