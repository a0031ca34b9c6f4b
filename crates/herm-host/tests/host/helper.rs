//! A program that embeds a host and names its helper.

use std::time::Duration;

use herm_core::config::Server;
use herm_host::{Helper, Host, Setup};
use herm_testkit::{binary, fake, wait_until};

use crate::support::{SOON, call, child, limited, result, text};

fn guarded(server: Server) -> Host {
    let mut setup = Setup::new(vec![server]);
    setup.helper = Helper::Path(binary("herm"));
    Host::new(setup)
}

/// The reapers of this process.
fn reapers() -> Vec<u32> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_ours = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.split_once("(mcp-reaper) ").map(|(_, rest)| rest);
        let mut fields = fields.into_iter().flat_map(str::split_whitespace);
        fields.next() != Some("Z") && fields.next() == Some(own.as_str())
    };
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
}

#[expect(clippy::disallowed_methods, reason = "a tool of the test, not a server")]
fn kill(pid: u32) {
    let status = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// Also: hosts share one reaper, a program's own children are left alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reaper_that_was_killed_is_replaced_with_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let server = |name: &str| limited(child(name, &fake("good", &folder.path().join(name))), 10);
    let mut own = own_child();
    let first = guarded(server("a"));
    assert!(first.connect(&[]).await[0].1.is_ok());
    let reaper = wait_until(SOON, "there is a reaper", || reapers().first().copied());

    kill(reaper);
    let second = guarded(server("b"));
    assert!(second.connect(&[]).await[0].1.is_ok());
    let next = wait_until(SOON, "there is a reaper again", || reapers().first().copied());
    assert_ne!(next, reaper);
    assert_eq!(reapers().len(), 1);
    for (host, name) in [(&first, "a"), (&second, "b")] {
        let request = call(&name.parse().unwrap(), "echo", r#"{"s":"on"}"#);
        assert_eq!(text(&result(host.call(request).await).unwrap()), "on");
    }
    first.stop().await;
    second.stop().await;
    assert!(own.wait().unwrap().success(), "its status was taken by somebody else");
}

#[expect(clippy::disallowed_methods, reason = "a child of the program's own, not a server")]
fn own_child() -> std::process::Child {
    std::process::Command::new("true").spawn().unwrap()
}

#[tokio::test]
async fn a_guarded_server_does_not_outlive_a_host_that_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut server = limited(child("t", &fake("good", &log)), 10);
    server.supervision.stop_grace = Duration::from_secs(60);
    let host = guarded(server);
    assert!(host.connect(&[]).await[0].1.is_ok());
    drop(host);
    // The tasks of the host end at their next turn.
    let deadline = tokio::time::Instant::now() + SOON;
    while !herm_testkit::processes_with(&log.to_string_lossy()).is_empty() {
        assert!(tokio::time::Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
