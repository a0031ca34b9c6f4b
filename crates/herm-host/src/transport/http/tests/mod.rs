//! Streamable HTTP against a scripted server.

mod proxy;
mod redirect;
pub(in crate::transport) mod server;
mod session;
mod streams;
mod tls;
mod zoo;

use std::time::Duration;

use herm_core::config::Revision;

use super::super::{Graces, LinkError, LinkEvent, OutKind, Outgoing};
use super::{Client, HttpLink};
use server::Server;

pub(in crate::transport) const LIMIT: usize = 64 << 10;

/// Longer than anything here takes; a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(10);

pub(in crate::transport) const GRACES: Graces =
    Graces { stop: Duration::from_millis(100), term: Duration::from_millis(100) };

pub(in crate::transport) fn request(id: u64, method: &str) -> Outgoing {
    Outgoing {
        kind: OutKind::Request(id),
        method: method.to_owned(),
        body: format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#),
        headers: Vec::new(),
    }
}

pub(in crate::transport) fn notification(method: &str) -> Outgoing {
    Outgoing {
        kind: OutKind::Notification,
        method: method.to_owned(),
        body: format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#),
        headers: Vec::new(),
    }
}

/// A request of 2026-07-28.
fn modern(id: u64, method: &str) -> Outgoing {
    let version = ("MCP-Protocol-Version".to_owned(), "2026-07-28".to_owned());
    Outgoing {
        headers: vec![version, ("Mcp-Method".to_owned(), method.to_owned())],
        ..request(id, method)
    }
}

/// The answer of a server.
pub(in crate::transport) fn result(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

pub(in crate::transport) fn link(server: &Server) -> HttpLink {
    let target = server.target();
    HttpLink::new(Client::new(&target).unwrap(), &target, LIMIT)
}

async fn event(link: &mut HttpLink) -> LinkEvent {
    tokio::time::timeout(PATIENCE, link.next()).await.expect("the link hangs")
}

/// Lets the link work until something has come about; it has nothing to say meanwhile.
async fn quiet_until(link: &mut HttpLink, done: impl Future<Output = ()>) {
    let waited = tokio::time::timeout(PATIENCE, async {
        tokio::select! {
            event = link.next() => panic!("unexpected: {event:?}"),
            () = done => {}
        }
    });
    waited.await.expect("it does not come about");
}

/// Sends a request; its frames up to the answer, or why there is none.
async fn call(link: &mut HttpLink, message: Outgoing) -> Result<Vec<String>, LinkError> {
    let OutKind::Request(id) = message.kind else { panic!("no request") };
    link.send(message).unwrap();
    let mut frames = Vec::new();
    loop {
        match event(link).await {
            LinkEvent::Frame { bytes, of: Some(of) } if of == id => {
                frames.push(String::from_utf8(bytes.to_vec()).unwrap());
                if super::reply::answer(&bytes, id) == super::reply::Answer::Ours {
                    return Ok(frames);
                }
            }
            LinkEvent::Failed { id: failed, error } if failed == id => return Err(error),
            LinkEvent::Closed(error) => return Err(error),
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// A handshake: initialize, opened, initialized.
async fn open(link: &mut HttpLink) {
    call(link, request(1, "initialize")).await.unwrap();
    link.opened(Revision::V2025_11_25);
    link.send(notification("notifications/initialized")).unwrap();
}
