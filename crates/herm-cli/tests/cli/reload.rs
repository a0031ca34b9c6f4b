//! A running host takes up another configuration, and touches nothing that did not change.

use std::path::PathBuf;

use herm_testkit::{Sandbox, fake, fake_log, processes_with, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON};
use crate::control::document;
use crate::serve::entry;

/// Two servers, a host, and what the host is told next.
struct Case {
    sandbox: Sandbox,
    client: Client,
    logs: [PathBuf; 2],
}

impl Case {
    fn new(top: &str) -> Self {
        let sandbox = Sandbox::new();
        let logs = ["a", "b"].map(|name| sandbox.root().join(format!("{name}.log")));
        let (a, b) = (fake("good", &logs[0]), fake("good", &logs[1]));
        sandbox.config(&format!("{top}mcp_servers:\n{}{}", entry("a", &a, ""), entry("b", &b, "")));
        let mut command = sandbox.herm();
        command.arg("serve");
        let mut client = Client::open(command);
        client.tools(&["mcp__a__echo", "mcp__b__echo"]);
        Self { sandbox, client, logs }
    }

    /// Both entries, `a` with more to it.
    fn write(&self, top: &str, a_command: &[&str], a_more: &str) {
        let mut a = fake("good", &self.logs[0]);
        a.extend(a_command.iter().map(|word| (*word).to_owned()));
        let b = fake("good", &self.logs[1]);
        let text = format!("{top}mcp_servers:\n{}{}", entry("a", &a, a_more), entry("b", &b, ""));
        self.sandbox.config(&text);
    }

    fn reload(&self) -> Value {
        let (reloaded, code) = document(&self.sandbox, &["reload"]);
        assert_eq!(code, Some(0), "{reloaded}");
        reloaded
    }

    fn spawns(&self) -> [usize; 2] {
        [fake_log::spawns(&self.logs[0]), fake_log::spawns(&self.logs[1])]
    }

    fn state(&self, name: &str) -> Value {
        let (status, _) = document(&self.sandbox, &["status", name]);
        status["hosts"][0]["servers"][0].clone()
    }

    fn names(&mut self) -> Vec<String> {
        let listed = self.client.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// The reload is on command here.
const BY_HAND: &str = "auto_reload: false\n";

#[test]
fn one_more_argument_replaces_that_server_and_no_other() {
    let mut case = Case::new(BY_HAND);
    let old = case.state("a")["pid"].as_u64().unwrap();
    let marker = case.sandbox.root().join("second").display().to_string();
    case.write(BY_HAND, &["--marker", &marker], "");
    let reloaded = case.reload();
    assert_eq!((&reloaded["started"], &reloaded["unchanged"]), (&json!(["a"]), &json!(["b"])));
    assert_eq!(case.spawns(), [2, 1]);
    assert!(!std::path::Path::new(&format!("/proc/{old}/stat")).exists(), "the old one runs on");
    assert_eq!(processes_with(&marker).len(), 1);
    assert_eq!(
        case.client.call("mcp__a__echo", &json!({"s": "new"}))["result"]["content"][0]["text"],
        "new"
    );
    // Nothing changed: nothing is touched.
    let reloaded = case.reload();
    assert_eq!(reloaded["unchanged"], json!(["a", "b"]));
    assert_eq!(case.spawns(), [2, 1]);
    assert_eq!(case.client.close().0.code(), Some(0));
}

#[test]
fn filters_and_limits_are_taken_up_in_place() {
    let mut case = Case::new(BY_HAND);
    case.write(BY_HAND, &[], ", tools: {exclude: ['echo']}, timeout: 7");
    let reloaded = case.reload();
    assert_eq!((&reloaded["updated"], &reloaded["unchanged"]), (&json!(["a"]), &json!(["b"])));
    wait_until(SOON, "the tool is hidden", || {
        (!case.names().contains(&"mcp__a__echo".to_owned())).then_some(())
    });
    assert_eq!(case.spawns(), [1, 1]);
    case.write(BY_HAND, &[], "");
    case.reload();
    case.client.tools(&["mcp__a__echo", "mcp__b__echo"]);
    assert_eq!(case.spawns(), [1, 1]);
    assert_eq!(case.client.close().0.code(), Some(0));
}

#[test]
fn a_disabled_server_is_stopped_and_comes_back_when_enabled() {
    let mut case = Case::new(BY_HAND);
    case.write(BY_HAND, &[], ", enabled: false");
    case.reload();
    assert_eq!(case.state("a")["state"], "disabled");
    assert!(processes_with(&case.logs[0].to_string_lossy()).is_empty());
    case.client.find("the client is told", |message| {
        message["method"] == "notifications/tools/list_changed"
    });
    assert_eq!(case.names(), ["mcp__b__echo"]);
    case.write(BY_HAND, &[], "");
    case.reload();
    case.client.tools(&["mcp__a__echo", "mcp__b__echo"]);
    assert_eq!(case.spawns(), [2, 1]);
    // Deleted.
    let b = fake("good", &case.logs[1]);
    case.sandbox.config(&format!("{BY_HAND}mcp_servers:\n{}", entry("b", &b, "")));
    assert_eq!(case.reload()["stopped"], json!(["a"]));
    assert_eq!(case.names(), ["mcp__b__echo"]);
    assert_eq!(case.spawns(), [2, 1]);
    assert_eq!(case.client.close().0.code(), Some(0));
}

#[test]
fn a_changed_variable_restarts_only_the_server_that_uses_it() {
    let case = Case::new(BY_HAND);
    let with = ", env: {TOKEN: '${MY_TOKEN:-none}'}";
    case.write(BY_HAND, &[], with);
    case.reload();
    assert_eq!(case.spawns(), [2, 1]);
    case.sandbox.write("herm/.env", "MY_TOKEN=first\nOTHER=1\n");
    assert_eq!(case.reload()["started"], json!(["a"]));
    assert_eq!(case.spawns(), [3, 1]);
    case.sandbox.write("herm/.env", "MY_TOKEN=first\nOTHER=2\n");
    assert_eq!(case.reload()["unchanged"], json!(["a", "b"]));
    assert_eq!(case.spawns(), [3, 1]);
    assert_eq!(case.client.close().0.code(), Some(0));
}

#[test]
fn a_changed_file_is_taken_up_by_itself_and_a_broken_one_is_not() {
    let mut case = Case::new("");
    case.write("", &["--marker", "taken-up"], "");
    wait_until(SOON, "the change is taken up", || (case.spawns() == [2, 1]).then_some(()));
    case.sandbox.config("mcp_servers: [\n");
    let error = wait_until(SOON, "the fault is reported", || {
        let (status, _) = document(&case.sandbox, &["status"]);
        status["hosts"][0]["config_error"].as_str().map(str::to_owned)
    });
    assert!(error.contains("config.yaml"), "{error}");
    case.sandbox.config("");
    wait_until(SOON, "the empty file is reported", || {
        let (status, _) = document(&case.sandbox, &["status"]);
        let error = status["hosts"][0]["config_error"].as_str().unwrap_or_default();
        error.contains("is empty").then_some(())
    });
    case.client.tools(&["mcp__a__echo", "mcp__b__echo"]);
    assert_eq!(case.spawns(), [2, 1]);
    let log = std::fs::read_to_string(case.sandbox.home().join("logs/herm.log")).unwrap();
    assert!(log.contains("configuration not reloaded, nothing changes"), "{log}");
    assert_eq!(case.client.close().0.code(), Some(0));
}

/// It was in no status, and the reload said that nothing had changed.
#[test]
fn an_entry_at_fault_is_blocked_for_all_to_see() {
    let mut case = Case::new(BY_HAND);
    let b = fake("good", &case.logs[1]);
    case.sandbox
        .config(&format!("{BY_HAND}mcp_servers:\n  bad: {{command: [1]}}\n{}", entry("b", &b, "")));
    let (reloaded, code) = document(&case.sandbox, &["reload"]);
    assert_eq!((code, &reloaded["ok"]), (Some(2), &json!(false)), "{reloaded}");
    assert_eq!(reloaded["stopped"], json!(["a"]));
    assert_eq!(reloaded["unchanged"], json!(["b"]));
    let blocked = &reloaded["blocked"][0];
    assert_eq!((&blocked["name"], &blocked["error"]["kind"]), (&json!("bad"), &json!("refused")));
    assert!(blocked["error"]["message"].as_str().unwrap().contains("command"), "{blocked}");
    let state = case.state("bad");
    assert_eq!(
        (&state["state"], &state["reason"]["class"]),
        (&json!("blocked"), &json!("blocked"))
    );
    assert_eq!(case.names(), ["mcp__b__echo"]);
    // It was no reason to go around the host, either.
    assert_eq!(document(&case.sandbox, &["tools"]).0["tools"][0]["name"], "mcp__b__echo");
    assert_eq!(case.spawns(), [1, 1]);
    let log = || std::fs::read_to_string(case.sandbox.home().join("logs/herm.log")).unwrap();
    wait_until(SOON, "the log names it", || {
        log().contains("MCP server 'bad' is not started: ").then_some(())
    });
    // The other way around.
    case.write(BY_HAND, &[], "");
    assert_eq!(case.reload()["blocked"], json!([]));
    assert_eq!(case.spawns(), [2, 1]);
    assert_eq!(case.client.close().0.code(), Some(0));
}

/// "herm is stopping", said to calls of a server that a reload had just replaced.
#[test]
fn a_call_while_its_server_is_replaced_is_the_new_one_s() {
    let mut case = Case::new(BY_HAND);
    for round in 0..5 {
        case.write(BY_HAND, &["--marker", &format!("round-{round}")], "");
        let mut command = case.sandbox.herm();
        let reload = std::thread::spawn(move || command.arg("reload").output().unwrap());
        while !reload.is_finished() {
            let answer = case.client.call("mcp__a__echo", &json!({"s": "hi"}));
            let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            // One that was with the old server may be lost with it.
            assert!(text == "hi" || text.contains("outcome"), "{answer}");
        }
        assert!(reload.join().unwrap().status.success());
    }
    assert_eq!(case.client.close().0.code(), Some(0));
}

/// A host in safe mode started what a reload brought.
#[test]
fn in_safe_mode_a_reload_starts_nothing() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("{BY_HAND}mcp_servers: {{}}\n"));
    let mut command = sandbox.herm();
    command.args(["serve", "--safe-mode"]);
    let client = Client::open(command);
    sandbox.config(&format!("{BY_HAND}mcp_servers:\n{}", entry("a", &fake("good", &log), "")));
    let (reloaded, _) = document(&sandbox, &["reload"]);
    assert_eq!(reloaded["started"], json!(["a"]), "{reloaded}");
    let (status, _) = document(&sandbox, &["status", "a"]);
    let server = &status["hosts"][0]["servers"][0];
    assert_eq!((&server["state"], &server["counters"]["starts"]), (&json!("idle"), &json!(0)));
    assert_eq!(client.close().0.code(), Some(0));
    assert!(!log.exists(), "nothing was started");
}
