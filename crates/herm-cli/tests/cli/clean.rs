//! Descendants that have left their group, made a session of their own, and have nothing of their
//! server's environment: `sudo`, `env -i`, a detached `spawn` with an environment of its own.

use std::time::Duration;

use herm_testkit::{Sandbox, binary, fake, fake_log, processes_with, wait_until};

use crate::client::{Client, SOON};
use crate::control::{document, run};
use crate::serve::entry;
use crate::trees::{Left, signal};

/// Nothing is left so long after a kill of the host.
const GONE: Duration = Duration::from_secs(6);

/// A host with one server that has such a child.
struct Clean {
    sandbox: Sandbox,
    client: Client,
    log: std::path::PathBuf,
    left: Left,
}

impl Clean {
    /// `before` and `behind` stand around the start of the child.
    fn new(before: &str, behind: &str) -> Self {
        let sandbox = Sandbox::new();
        let marker = sandbox.root().join("clean").display().to_string();
        let log = sandbox.root().join("log");
        let (program, good) = (binary("herm-fake").display().to_string(), fake("good", &log));
        let child = format!("env -i '{program}' b01-away --marker '{marker}' </dev/null");
        let script = format!("{before}{child} &{behind}\nexec '{}'\n", good.join("' '"));
        let file = sandbox.write("server.sh", script);
        let command = ["sh".to_owned(), file.display().to_string()];
        let graces = ", supervision: {stop_grace: 0.5, term_grace: 0.5}";
        sandbox.config(&format!("mcp_servers:\n{}", entry("a", &command, graces)));
        let mut serve = sandbox.herm();
        serve.arg("serve");
        let mut client = Client::open(serve);
        client.tools(&["mcp__a__echo"]);
        let clean = Self { sandbox, client, log, left: Left(marker) };
        wait_until(SOON, "the child runs", || (clean.children().len() == 1).then_some(()));
        clean
    }

    fn children(&self) -> Vec<u32> {
        processes_with(&self.left.0)
    }

    /// Waits until the child has been there for longer than it takes to look at it.
    fn seen(&self) -> u32 {
        let child = self.children()[0];
        wait_until(SOON, "the child is old enough", || {
            (age(child) > Duration::from_secs(5)).then_some(())
        });
        child
    }
}

/// How long a process has run.
fn age(pid: u32) -> Duration {
    let born = std::fs::metadata(format!("/proc/{pid}")).unwrap().modified().unwrap();
    born.elapsed().unwrap_or_default()
}

#[test]
fn a_host_that_ends_leaves_no_child_with_a_clean_environment() {
    let clean = Clean::new("", "");
    let Clean { client, left, .. } = clean;
    assert_eq!(client.close().0.code(), Some(0));
    assert_eq!(processes_with(&left.0), Vec::<u32>::new());
}

/// Its parent is gone, so that it is the host's own child by now.
#[test]
fn nor_one_that_was_left_to_the_host() {
    let clean = Clean::new("(", ")");
    let Clean { client, left, .. } = clean;
    assert_eq!(client.close().0.code(), Some(0));
    assert_eq!(processes_with(&left.0), Vec::<u32>::new());
}

#[test]
fn a_restart_does_not_start_beside_it() {
    let clean = Clean::new("", "");
    let old = clean.children()[0];
    let (_, said, code) = run(&clean.sandbox, &["restart", "a"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!clean.children().contains(&old), "it runs beside the next generation");
    assert_eq!(clean.client.close().0.code(), Some(0));
}

#[test]
fn a_server_that_falls_does_not_leave_it() {
    let clean = Clean::new("", "");
    let old = clean.seen();
    let (status, _) = document(&clean.sandbox, &["status"]);
    let server = status["hosts"][0]["servers"][0]["pid"].as_u64().unwrap();
    signal("-KILL", server.try_into().unwrap());
    wait_until(SOON, "the next generation runs", || {
        (fake_log::spawns(&clean.log) == 2).then_some(())
    });
    assert!(!clean.children().contains(&old), "it runs beside the next generation");
    assert_eq!(clean.client.close().0.code(), Some(0));
}

#[test]
fn a_host_that_is_killed_does_not_leave_it() {
    let mut clean = Clean::new("", "");
    clean.seen();
    signal("-KILL", clean.client.child.id());
    clean.client.wait();
    wait_until(GONE, "nothing is left", || clean.children().is_empty().then_some(()));
}
