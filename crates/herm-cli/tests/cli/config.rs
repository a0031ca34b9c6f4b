//! Commands that only read the configuration.

use crate::sandbox::Sandbox;

const TWO: &str = "\
mcp_servers:
  fs:
    command: npx
    args: [-y, '@modelcontextprotocol/server-filesystem', /tmp]
    env: {API_KEY: hunter2}
    tools: {include: [read_file, list_directory]}
  web:
    url: https://me:hunter2@example.com/mcp?key=hunter2
    headers: {Authorization: 'Bearer ${TOKEN}'}
    enabled: false
    tools: {exclude: [delete]}
";

const FAULTY: &str = "\
mcp_servers:
  fs:
    comand: npx
    timeout: soon
  ok:
    command: cat
model: gpt
";

#[test]
fn list_shows_what_is_configured_and_starts_nothing() {
    let sandbox = Sandbox::with(TWO);
    insta::assert_snapshot!(sandbox.run(&["list"]), @"");
    insta::assert_snapshot!(sandbox.run(&["list", "--json"]), @"");
    let safe = Sandbox::with(TWO).set("HERMES_SAFE_MODE", "on");
    insta::assert_snapshot!(safe.run(&["list"]), @"");
}

#[test]
fn safe_mode_refuses_whatever_would_start_a_server() {
    let sandbox = Sandbox::with(TWO).set("HERM_SAFE_MODE", "1");
    insta::assert_snapshot!(sandbox.run(&["test"]), @"");
    for words in [
        &["tools"][..],
        &["call", "fs.x"],
        &["resources"],
        &["read", "x:y"],
        &["prompts"],
        &["prompt", "fs.x"],
        &["demo"],
    ] {
        assert_eq!(sandbox.output(words).status.code(), Some(4), "{words:?}");
    }
    assert_eq!(Sandbox::with(TWO).output(&["--safe-mode", "test", "fs"]).status.code(), Some(4));
}

#[test]
fn check_shows_every_error_with_its_line() {
    let sandbox = Sandbox::with(FAULTY);
    insta::assert_snapshot!(sandbox.run(&["check"]), @"");
    insta::assert_snapshot!(sandbox.run(&["check", "--json"]), @"");
    insta::assert_snapshot!(sandbox.run(&["list"]), @"");
    insta::assert_snapshot!(sandbox.run(&["show", "fs"]), @"");
}

#[test]
fn a_right_configuration_is_shown_with_its_secrets_hidden() {
    let sandbox = Sandbox::with(TWO);
    let shown = sandbox.run(&["check"]);
    insta::assert_snapshot!(shown, @"");
    let json = sandbox.run(&["--json", "show", "web"]);
    insta::assert_snapshot!(json, @"");
    assert!(!format!("{shown}{json}").contains("hunter2"));
    insta::assert_snapshot!(sandbox.run(&["show", "fs"]), @"");
}

#[test]
fn an_unknown_name_is_three_and_nothing_is_started() {
    let sandbox = Sandbox::with(TWO);
    insta::assert_snapshot!(sandbox.run(&["test", "fs", "wbe"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--json", "call", "github.search"]), @"");
    insta::assert_snapshot!(sandbox.run(&["call", "mcp__github__search"]), @"");
    insta::assert_snapshot!(sandbox.run(&["prompt", "nothing"]), @"");
}

#[test]
fn without_a_configuration_it_says_where_it_looked_and_what_it_found() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["tools"]), @"");
    insta::assert_snapshot!(sandbox.run(&["list", "--json"]), @"");
    sandbox.write("me/.hermes/config.yaml", TWO.as_bytes());
    insta::assert_snapshot!(sandbox.run(&["check"]), @"");
    let config = sandbox.path("me/.hermes/config.yaml");
    let named = sandbox.output(&["list", "--config", config.to_str().unwrap()]);
    assert!(named.status.success());
}
