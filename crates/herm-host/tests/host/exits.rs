//! Servers that end at the worst moment.

use std::time::Duration;

use herm_host::{Host, Setup};
use herm_testkit::wait_until;

use crate::support::{limited, stdio};

/// An exit may be seen before the first request was taken: the cause is the exit all the same.
#[tokio::test]
async fn a_server_that_ends_at_once_is_said_to_have_ended() {
    for _ in 0..30 {
        let server = limited(stdio("t", &["sh", "-c", "echo why >&2; exit 3"]), 10);
        let name = server.name.clone();
        let host = Host::new(Setup::new(vec![server]));
        let why = host.connect(std::slice::from_ref(&name)).await.remove(0).1.unwrap_err();
        host.stop().await;
        assert!(why.to_string().contains("ended with exit code 3"), "{why}");
        assert!(format!("{why:?}").contains(r#"stderr: "why""#), "{why:?}");
    }
}

/// Opening (it never answers), or listing (it answers `initialize` only).
async fn has_its_graces(answer: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let script = format!(
        "trap 'echo clean > {done}; exit' TERM; read -r line; {answer} echo > {up}; \
         while :; do sleep 0.05; done",
        done = path("done").display(),
        up = path("up").display(),
    );
    let mut server = limited(stdio("t", &["sh", "-c", &script]), 20);
    server.supervision.term_grace = Duration::from_secs(10);
    let host = Host::new(Setup::new(vec![server]));
    let up = path("up");
    let is_up = tokio::task::spawn_blocking(move || {
        wait_until(Duration::from_secs(20), "the server starts", || up.exists().then_some(()));
    });
    tokio::select! {
        ready = host.connect(&[]) => panic!("{ready:?}"),
        up = is_up => up.unwrap(),
    }
    host.stop().await;
    assert_eq!(std::fs::read_to_string(path("done")).unwrap(), "clean\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_stopped_while_it_opens_has_its_graces() {
    has_its_graces("").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_stopped_while_it_lists_has_its_graces() {
    let answer = r#"printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}\n'; read -r line; read -r line;"#;
    has_its_graces(answer).await;
}
