//! Several hosts on one home, and commands beside them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use herm_testkit::{Sandbox, fake, fake_log, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON};
use crate::serve::entry;
use crate::story::{SCALED, fails, now, pause};

const TIME: Duration = Duration::from_secs(12);
const PASS: Duration = Duration::from_millis(100);

/// When it was started, on the machine's clock, and by whom.
type Starts = Vec<(f64, Value)>;

/// Hosts on one home that want a dying server all the time, and commands that do if `called`; all its
/// starts.
fn starts_of(hosts: usize, script: &str, called: bool) -> Starts {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let more = format!(", {}", SCALED.replace("allowance: 1000", "allowance: 4"));
    sandbox.config(&format!("mcp_servers:\n{}", entry("case", &fake(script, &log), &more)));
    let over = AtomicBool::new(false);
    let host = || {
        let mut command = sandbox.herm();
        command.arg("serve");
        let mut client = Client::open(command);
        while !over.load(Relaxed) {
            let answer = client.call("mcp__case__echo", &json!({"s": "anybody?"}));
            assert!(script == "b02-opened" || fails(&answer), "{answer}");
            pause(PASS);
        }
        assert_eq!(client.close().0.code(), Some(0));
    };
    let command = |more: &[&str]| {
        while !over.load(Relaxed) {
            let mut herm = sandbox.herm();
            let output = herm.args(["call", "case.echo"]).args(more).output().unwrap();
            let failed = matches!(output.status.code(), Some(1 | 3 | 7));
            assert!(script == "b02-opened" || failed, "{output:?}");
            pause(PASS);
        }
    };
    std::thread::scope(|scope| {
        let begin = now();
        scope.spawn(host);
        // The others come later, when it is known what they have to do with.
        wait_until(SOON, "the first failure is written down", || {
            sandbox.home().join("supervision.json").exists().then_some(())
        });
        for _ in 1..hosts {
            scope.spawn(host);
        }
        if called {
            scope.spawn(|| command(&[]));
            scope.spawn(|| command(&["--direct"]));
        }
        pause(TIME.saturating_sub(begin.elapsed()));
        over.store(true, Relaxed);
    });
    let log = fake_log::read(&log).into_iter().filter(|entry| entry.event == "spawn");
    log.map(|entry| (entry.ms, entry.data["parent"].clone())).collect()
}

fn no_oftener_than_one(script: &str) {
    let (one, all) = std::thread::scope(|scope| {
        let one = scope.spawn(|| starts_of(1, script, false));
        let all = scope.spawn(|| starts_of(5, script, true));
        (one.join().unwrap(), all.join().unwrap())
    });
    // Jitter makes one more, or one less.
    assert!((4..=10).contains(&one.len()), "starts by one host: {one:?}");
    let few = all.len() >= 2 && all.len() <= one.len() + 2;
    assert!(few, "starts by all of them: {all:?}; by one: {one:?}");
}

#[test]
fn five_hosts_and_a_loop_of_calls_start_a_server_that_is_dead_on_arrival_no_oftener_than_one() {
    no_oftener_than_one("b02");
}

#[test]
fn five_hosts_and_a_loop_of_calls_start_a_server_that_dies_once_open_no_oftener_than_one() {
    no_oftener_than_one("b02-opened");
}
