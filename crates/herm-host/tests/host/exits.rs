//! Servers that end at the worst moment.

use herm_host::{Host, Setup};

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
