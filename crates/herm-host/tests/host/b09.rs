//! Case B09, loud standard error and telling exits: what comes after an exit.

use std::time::Duration;

use herm_core::config::Server;
use herm_host::Refusal;

use crate::support::Case;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_after_an_exit_works_on_a_new_generation() {
    let quick = |server: &mut Server| {
        server.supervision.backoff_initial = Duration::from_millis(200);
    };
    let case = Case::with("b09", quick, |_| {});
    case.echo("before").await;
    for (tool, ends, last) in
        [("die7", "exit code 7", "db locked"), ("segv", "signal 11", "about to fall")]
    {
        let generation = case.status().generation;
        let why = case.call(tool, "{}").await.unwrap_err();
        assert!(matches!(why, Refusal::OutcomeUnknown { .. }), "{why:?}");
        assert!(why.to_string().contains(ends) && format!("{why:?}").contains(last), "{why:?}");
        case.echo("after").await;
        assert_eq!(case.status().generation, generation + 1);
    }
    case.end().await;
}
