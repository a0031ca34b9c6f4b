//! B11 JSON-RPC manners.

use herm_testkit::fake_log;

use crate::support::Case;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unasked_messages_neither_drop_the_link_nor_answer_a_call() {
    let case = Case::stdio("b11");
    case.connect().await.unwrap();
    // Pinged with the id of the pending call itself.
    case.echo("with its id").await;
    case.echo("later").await;
    let checks = ["ping-before-open", "roots", "unknown-request", "ping-with-pending-id"];
    fake_log::assert_checks(&case.log, &checks);
    assert_eq!(case.status().generation, 1);
    assert_eq!(fake_log::spawns(&case.log), 1);
    case.end().await;
}
