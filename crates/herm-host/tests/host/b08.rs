//! B08 Dirty stdout.

use herm_testkit::{big_text, fake_log};

use crate::support::{Case, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_and_torn_pieces_cost_no_answer() {
    let case = Case::stdio("b08");
    case.connect().await.unwrap();
    let listing = case.listing();
    assert_eq!(listing.tools[0].view.description.as_deref(), Some("grins \u{1f600}"));
    // These two are answered in reverse order, in one write.
    tokio::join!(case.echo("first"), case.echo("second"));
    case.echo("byte by byte \u{1f600}").await;
    let big = case.call("echo", "{}").await.unwrap();
    assert!(text(&big) == big_text(5 << 20), "5 MiB are not the same");
    case.echo("after the empty batch").await;
    assert_eq!(fake_log::spawns(&case.log), 1);
    let skipped = case.status().skipped;
    assert!(skipped.count >= 6, "{skipped:?}");
    assert_eq!(skipped.first.as_deref(), Some("Starting"));
    case.end().await;
}
