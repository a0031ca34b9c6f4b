//! A reload whose caller goes away in the middle.

use std::time::Duration;

use herm_core::config::Server;
use herm_host::{Host, Setup};
use herm_testkit::{Sandbox, fake, fake_log};
use tokio::time::timeout;

use crate::support::{SOON, call, limited, result, stdio, text};

/// Longer than taking up a configuration takes, shorter than the end of [`reluctant`].
const MOMENT: Duration = Duration::from_millis(100);

/// A server whose process tree takes all its graces, six tenths of a second, to end.
fn reluctant(sandbox: &Sandbox, number: usize) -> Server {
    let log = sandbox.root().join("log");
    let script = format!(r#"trap "" TERM; "$@"; sleep 30 # {number}"#);
    let mut command = vec!["sh", "-c", &script, "sh"];
    let fake = fake("good", &log);
    command.extend(fake.iter().map(String::as_str));
    limited(stdio("slow", &command), 10)
}

async fn echoes(host: &Host, server: &Server) {
    let echoed = host.call(call(&server.name, "echo", r#"{"s":"here"}"#));
    let echoed = timeout(SOON, echoed).await.expect("the call hangs");
    assert_eq!(text(&result(echoed).unwrap()), "here");
}

async fn dropped_reload(host: &Host, servers: Vec<Server>) {
    let reload = host.reload(Setup::new(servers), SOON);
    timeout(MOMENT, reload).await.expect_err("it does not wait for the old server");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_replaced_though_nobody_waits_for_it() {
    let sandbox = Sandbox::new();
    let (old, new) = (reluctant(&sandbox, 1), reluctant(&sandbox, 2));
    let host = Host::new(Setup::new(vec![old.clone()]));
    echoes(&host, &old).await;
    dropped_reload(&host, vec![new.clone()]).await;
    echoes(&host, &new).await;
    assert_eq!(fake_log::spawns(&sandbox.root().join("log")), 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_back_while_it_ends_keeps_its_tools() {
    let sandbox = Sandbox::new();
    let server = reluctant(&sandbox, 1);
    let host = Host::new(Setup::new(vec![server.clone()]));
    echoes(&host, &server).await;
    dropped_reload(&host, Vec::new()).await;
    assert!(host.catalogue().server(&server.name).is_none(), "it offers what it has no more");
    let reloaded = host.reload(Setup::new(vec![server.clone()]), SOON).await;
    assert_eq!((reloaded.started.len(), reloaded.failed.len()), (1, 0), "{reloaded:?}");
    assert!(host.catalogue().server(&server.name).is_some_and(|listing| listing.known > 0));
    echoes(&host, &server).await;
    assert_eq!(fake_log::spawns(&sandbox.root().join("log")), 2);
    host.stop().await;
}
