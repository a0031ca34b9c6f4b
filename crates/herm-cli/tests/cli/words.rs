//! What a newcomer is told: exit codes and sentences that say what is so, and what to do next.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use herm_testkit::{Sandbox, fake, fake_log};
use serde_json::json;

use crate::client::Client;
use crate::control::{document, run};
use crate::serve::entry;

/// Disabled, blocked, without a value for its variable.
const SILENT: &str = "mcp_servers:\n  off: {command: cat, enabled: false}\n  bad: {comand: cat}\n  \
                      unset: {command: cat, args: ['${NOT_SET}']}\n";

/// A sandbox with scripted servers, and the log that they write.
fn scripted(servers: &[(&str, &str)]) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("fake.log");
    let mut config = "mcp_servers:\n".to_owned();
    for (name, script) in servers {
        config += &entry(name, &fake(script, &log), "");
    }
    sandbox.config(&config);
    (sandbox, log)
}

#[test]
fn what_a_server_does_not_have_is_not_found() {
    let (sandbox, _) = scripted(&[("shelf", "library"), ("plain", "good")]);
    for (words, said) in [
        (&["read", "a:none", "--server", "shelf"][..], "no resource is called `a:none`"),
        (&["read", "a:1", "--server", "plain"], "hint: `plain` offers no resources"),
        (&["prompt", "plain.hello"], "hint: `plain` offers no prompts"),
    ] {
        let (_, err, code) = run(&sandbox, words);
        assert_eq!(code, Some(3), "{words:?}: {err}");
        assert!(err.contains(said), "{words:?}: {err}");
        assert_eq!(document(&sandbox, words).0["error"]["kind"], "not_found", "{words:?}");
    }
}

#[test]
fn a_listing_of_one_server_ends_with_the_code_of_its_failure() {
    for command in ["tools", "resources", "prompts"] {
        let sandbox = Sandbox::new(); // a failure is remembered
        sandbox.config(SILENT);
        let code = |words: &[&str]| run(&sandbox, words).2;
        assert_eq!(code(&[command, "off"]), Some(4), "{command}");
        assert_eq!(code(&[command, "bad"]), Some(4), "{command}");
        assert_eq!(code(&[command, "unset"]), Some(2), "{command}");
        assert_eq!(code(&[command]), Some(7), "{command}");
    }
}

#[test]
fn as_many_errors_are_announced_as_check_shows() {
    let sandbox = Sandbox::new();
    sandbox.config(SILENT);
    let (out, err, _) = run(&sandbox, &["check"]);
    let shown = out.matches('✗').count();
    assert!(err.contains(&format!("{shown} to put right")), "{out}{err}");
    let (_, err, _) = run(&sandbox, &["list"]);
    assert!(err.contains(&format!("has {shown} errors: ")), "{err}");
}

#[test]
fn check_warns_of_what_a_disabled_server_will_miss() {
    let sandbox = Sandbox::new();
    sandbox.config(
        "mcp_servers:\n  tickets:\n    command: cat\n    args: ['${NOT_SET}']\n    enabled: false\n",
    );
    let (_, err, code) = run(&sandbox, &["check"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("warning: ") && err.contains("the variable `NOT_SET` is not set"),
        "{err}"
    );
    let (document, _) = document(&sandbox, &["check"]);
    assert_eq!(document["warnings"][0]["server"], "tickets", "{document}");
}

#[test]
fn a_log_is_shown_as_it_was_written() {
    let sandbox = Sandbox::new();
    sandbox.config("mcp_servers:\n  py: {command: cat}\n");
    let trace = "Traceback:\n  File \"a.py\", line 1\n    a  + b\n    ~~~^~~\n\tat x\n";
    sandbox.write("herm/logs/mcp-stderr/py.log", format!("{trace}\u{1b}[31mred\u{1b}[0m  \n"));
    assert_eq!(run(&sandbox, &["logs", "py"]).0, format!("{trace}red\n"));
    let none = run(&sandbox, &["logs", "py", "-n", "0"]);
    assert_eq!(none, (String::new(), String::new(), Some(0)));
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_the_call() {
    let (sandbox, log) = scripted(&[("fs", "good")]);
    for words in [
        &["call", "fs.echo", "s=1", "--save", "/dev/null/x"][..],
        &["read", "a:1", "--server", "fs", "--save", "/dev/null/x"],
    ] {
        let (out, err, code) = run(&sandbox, words);
        assert_eq!((code, &*out), (Some(2), ""), "{err}");
        assert!(err.contains("it cannot be saved in `/dev/null/x`"), "{err}");
    }
    assert!(!log.exists() || fake_log::spawns(&log) == 0);
}

#[test]
fn bytes_that_could_not_be_saved_are_an_error() {
    let (sandbox, _) = scripted(&[("shelf", "library")]);
    sandbox.write("herm/results", "in the way");
    let (out, err, code) = run(&sandbox, &["read", "a:1", "--server", "shelf"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.starts_with("one\n") && out.contains("not saved"), "{out}");
    assert!(err.contains("error: a part of the result is lost: it cannot be saved in"), "{err}");
}

#[test]
fn arguments_that_contradict_each_other() {
    let (sandbox, _) = scripted(&[("fs", "good")]);
    let (_, err, code) = run(&sandbox, &["call", "fs.echo", "--args", r#"{"a":1,"a":2,"s":3}"#]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("the key `a` stands twice"), "{err}");
    // What stands beside `--args` wins.
    let words = ["call", "fs.echo", "--args", r#"{"s":"all"}"#, "s=one"];
    assert_eq!(run(&sandbox, &words).0, "one\n");
}

#[test]
fn a_host_that_is_not_there_is_answered_with_those_that_are() {
    let (sandbox, _) = scripted(&[("fs", "good")]);
    let mut command = sandbox.herm();
    command.arg("serve");
    let mut client = Client::open(command);
    client.tools(&["mcp__fs__echo"]);
    let (_, err, code) = run(&sandbox, &["stop", "--pid", "1"]);
    assert_eq!(code, Some(7), "{err}");
    assert!(err.contains(&format!("hint: running: {}", client.child.id())), "{err}");
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn a_test_does_not_send_to_itself_and_says_what_is_in_the_way() {
    let sandbox = Sandbox::new();
    let script = sandbox.write("server", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = "mcp_servers:\n".to_owned();
    for (name, command) in [
        ("shebang", script.display().to_string()),
        ("folder", sandbox.home().display().to_string()),
        ("words", "no-such-npx -y foo".to_owned()),
        ("gone", "/no/such/server".to_owned()),
    ] {
        writeln!(config, "  {name}: {}", json!({"command": command})).unwrap();
    }
    sandbox.config(&config);
    for (name, said, not) in [
        ("shebang", "`herm logs shebang`", "herm test"),
        ("folder", "is a directory", "not found"),
        ("words", "`command: no-such-npx`, `args: [...]`", "full path"),
        ("gone", "hint: correct `command`", "PATH"),
    ] {
        let (out, err, code) = run(&sandbox, &["test", name]);
        assert_eq!(code, Some(1), "{name}: {out}{err}");
        assert!(out.contains(said) && !out.contains(not), "{name}: {out}{err}");
    }
}
