//! What a host writes down, and how it is read.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use herm_testkit::{Sandbox, wait_until};

use crate::client::{Client, SOON};
use crate::control::{document, run};
use crate::serve::kill;

const CONFIG: &str = "mcp_servers:\n  dead:\n    command: sh\n    args: [-c, 'echo cfg missing >&2; exit 3']\n  gone: {command: no-such-program-anywhere}\n";

#[test]
fn the_host_s_log_names_each_failed_server_with_phase_reason_and_next_attempt() {
    let sandbox = Sandbox::new();
    sandbox.config(CONFIG);
    let mut command = sandbox.herm();
    command.arg("serve");
    let client = Client::open(command);
    let log = wait_until(SOON, "both failures are written", || {
        let (log, _, code) = run(&sandbox, &["logs"]);
        assert_eq!(code, Some(0));
        let both = log.contains("'dead'") && log.contains("'gone'");
        both.then_some(log)
    });
    let line = log.lines().find(|line| line.contains("'dead'")).unwrap();
    assert!(line.contains("the server ended with exit code 3 (open)"), "{line}");
    assert!(line.contains("its last words: cfg missing"), "{line}");
    assert!(line.contains("next attempt at 20"), "{line}");
    let line = log.lines().find(|line| line.contains("'gone'")).unwrap();
    assert!(line.contains(" ERROR ") && line.contains("is parked after 1 failure(s)"), "{line}");
    assert!(line.contains("`no-such-program-anywhere` was not found"), "{line}");
    let (said, _, _) = run(&sandbox, &["logs", "dead"]);
    assert!(said.contains("cfg missing"), "{said}");
    let (all, _, _) = run(&sandbox, &["logs", "--all"]);
    assert!(all.lines().any(|line| line == "dead | cfg missing"), "{all}");
    let (document, code) = document(&sandbox, &["logs", "dead"]);
    assert_eq!((document["files"][0]["server"].as_str(), code), (Some("dead"), Some(0)));
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn a_followed_log_goes_on_and_ends_when_it_is_interrupted() {
    let sandbox = Sandbox::new();
    sandbox.config(CONFIG);
    let mut follow = sandbox
        .herm()
        .args(["logs", "dead", "--follow"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        assert_eq!(run(&sandbox, &["test", "dead"]).2, Some(1));
        loop {
            let line = lines.next().expect("it goes on").unwrap();
            if line == "cfg missing" {
                break;
            }
        }
    }
    kill("-INT", follow.id());
    assert_eq!(wait_until(SOON, "it ends", || follow.try_wait().unwrap()).code(), Some(0));
}

#[test]
fn a_dead_server_is_not_started_by_each_of_many_calls() {
    let sandbox = Sandbox::new();
    let starts = sandbox.root().join("starts");
    let script = format!("echo x >> {}; exit 3", starts.display());
    sandbox.config(&format!("mcp_servers:\n  dead: {{command: sh, args: [-c, '{script}']}}\n"));
    let mut last = String::new();
    for _ in 0..20 {
        let (_, said, code) = run(&sandbox, &["call", "dead.x"]);
        assert_eq!(code, Some(7), "{said}");
        last = said;
    }
    let count = std::fs::read_to_string(&starts).unwrap().lines().count();
    assert!(count <= 5, "{count} starts");
    assert!(last.contains("is not connected (backoff") && last.contains("exit code 3"), "{last}");
    let (status, _, _) = run(&sandbox, &["status"]);
    assert!(status.contains("dead failed") && status.contains("exit code 3"), "{status}");
    // A person may always try, and it counts.
    assert_eq!(run(&sandbox, &["test", "dead"]).2, Some(1));
    assert_eq!(std::fs::read_to_string(&starts).unwrap().lines().count(), count + 1);
}
