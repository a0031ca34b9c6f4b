//! One client, without streams.

use std::sync::Arc;

use herm_host::{Host, Setup};

use super::Client;
use crate::gate::{Facts, Gate};
use crate::json::Failure;

/// What waits to be written, and is then.
fn written<R, W, L>(client: &mut Client<R, W, L>) -> (usize, usize) {
    let (mut bytes, mut lines) = (0, 0);
    while !client.out.is_empty() {
        let line = client.out.front().len();
        client.out.advance(line);
        (bytes, lines) = (bytes + line, lines + 1);
    }
    (bytes, lines)
}

#[tokio::test]
async fn a_batch_of_short_requests_does_not_pile_up_long_answers() {
    const REQUESTS: usize = 20_000;
    let host = Arc::new(Host::new(Setup::new(Vec::new())));
    let none = || Err(Box::new(Failure::new("config", "there is none")));
    let gate = Arc::new(Gate::new(host, None, Facts::default(), Box::new(none)));
    let mut client =
        Client::new(gate, tokio::io::empty(), tokio::io::sink(), Box::pin(std::future::pending()));
    let request = |id: usize| {
        let params = r#"{"protocolVersion":"2025-06-18"}"#;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{params}}}"#)
    };
    let batch: Vec<String> = (0..REQUESTS).map(request).collect();
    let batch = format!("[{}]\n", batch.join(","));
    client.lines.room().extend_from_slice(batch.as_bytes());
    let mut answers = 0;
    loop {
        client.read();
        let (bytes, lines) = written(&mut client);
        assert!(bytes < 5 << 20, "{bytes} bytes wait for a client that may not read");
        answers += lines;
        if !client.more {
            break;
        }
    }
    assert_eq!(answers, REQUESTS);
}
