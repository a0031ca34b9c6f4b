//! B03 Eight first calls at once.

use std::time::Duration;

use futures_util::future::join_all;
use herm_core::config::Server;
use herm_host::{Setup, State};
use herm_testkit::{fake, fake_log};
use tokio::time::sleep;

use crate::support::{Case, came, child, scaled};

/// The calls of eight callers, and a look at the status and a reload in the middle.
async fn eight(case: &Case, server: &Server) {
    let calls = join_all((0..8).map(|number| async move {
        sleep(Duration::from_millis(5 * number)).await;
        case.echo(&format!("call {number}")).await;
    }));
    let look = async {
        sleep(Duration::from_millis(1000)).await;
        assert_eq!(case.status().state, State::Connecting);
        let mut servers = vec![server.clone()];
        servers.push(child("sibling", &fake("good", &case.sandbox.root().join("sibling"))));
        let reloaded = case.host.reload(Setup::new(servers), Duration::from_secs(1)).await;
        assert_eq!(reloaded.unchanged.len(), 2, "{reloaded:?}");
    };
    tokio::join!(calls, look);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_first_calls_share_one_start() {
    let mut kept = None;
    let change = |server: &mut Server| {
        scaled(server);
        server.lazy = true;
        kept = Some(server.clone());
    };
    let case = Case::with("b03", change, |_| {});
    case.beside(eight(&case, &kept.unwrap())).await;
    assert_eq!((fake_log::spawns(&case.log), came(&case.log, "initialize")), (1, 1));
    assert_eq!(came(&case.log, "tools/call"), 8);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_first_calls_open_one_session() {
    let mut kept = None;
    let case = Case::http_with("b03", &[], |server| {
        scaled(server);
        kept = Some(server.clone());
    });
    case.beside(eight(&case, &kept.unwrap())).await;
    assert_eq!((came(&case.log, "initialize"), came(&case.log, "tools/call")), (1, 8));
    case.end().await;
}
