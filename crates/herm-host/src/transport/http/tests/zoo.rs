//! The shapes that servers give to one and the same answer.

use super::super::context::Context;
use super::super::listen::Listen;
use super::server::{Say, Seen, Server};
use super::*;
use std::sync::Arc;

/// A server that answers a handshake plainly, and the rest as told.
fn handshake(get: Say, told: Say, reply: Say) -> impl Fn(&Seen, usize) -> Say + Send + Sync {
    move |seen, _| match (seen.method.as_str(), seen.rpc().as_str()) {
        ("GET", _) => get.clone(),
        (_, "initialize") => Say::json(&result(1)),
        (_, rpc) if rpc.starts_with("notifications/") => told.clone(),
        _ => reply.clone(),
    }
}

fn refused(status: &str) -> Say {
    Say::with(status, "")
}

fn accepted() -> Say {
    refused("202 Accepted")
}

#[tokio::test]
async fn any_success_ends_a_notification() {
    let cells = [
        accepted(),
        refused("200 OK\r\nContent-Type: application/json"),
        Say::raw("HTTP/1.1 204 No Content\r\n\r\n"),
        Say::json("{}"),
        Say::json(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#),
        Say::events(&[": nothing\n\n"]),
        refused("500 Internal Server Error"),
    ];
    for (n, told) in cells.into_iter().enumerate() {
        let script = handshake(refused("405 No"), told, Say::json(&result(2)));
        let server = Server::start(script).await;
        let mut link = link(&server);
        open(&mut link).await;
        let frames = call(&mut link, request(2, "tools/list")).await;
        assert_eq!(frames.unwrap(), [result(2)], "cell {n}");
    }
}

#[tokio::test]
async fn a_call_works_whatever_the_get_is_answered_with() {
    let cells = [
        refused("405 Method Not Allowed"),
        refused("404 Not Found"),
        refused("406 Not Acceptable"),
        refused("501 Not Implemented"),
        refused("401 Unauthorized"),
        Say::with("200 OK\r\nContent-Type: text/html", "<html></html>"),
        Say::events(&[]),
        Say::open_events(&[]),
        Say::hang(),
        refused("301 Moved\r\nLocation: http://127.0.0.1:1/"),
    ];
    for (n, get) in cells.into_iter().enumerate() {
        let server = Server::start(handshake(get, accepted(), Say::json(&result(2)))).await;
        let mut link = link(&server);
        open(&mut link).await;
        let frames = call(&mut link, request(2, "tools/list")).await;
        assert_eq!(frames.unwrap(), [result(2)], "cell {n}");
    }
}

#[tokio::test]
async fn a_get_that_is_refused_is_not_asked_again() {
    let cells = [
        refused("405 Method Not Allowed"),
        refused("404 Not Found"),
        refused("406 Not Acceptable"),
        refused("400 Bad Request"),
        refused("501 Not Implemented"),
        Say::with("200 OK\r\nContent-Type: text/html", "<html></html>"),
    ];
    for (n, get) in cells.into_iter().enumerate() {
        let server = Server::start(move |_, _| get.clone()).await;
        let client = Client::new(&server.target()).unwrap();
        let listen = Listen::new(Arc::new(Context::new(client, LIMIT)));
        let step = tokio::time::timeout(PATIENCE, listen.step()).await.expect("it asks for ever");
        assert!(step.is_none(), "cell {n}");
        assert_eq!(server.seen().len(), 1, "cell {n}");
    }
}

#[tokio::test]
async fn every_spelling_of_an_answer_is_read() {
    let answer = result(2);
    let (head, tail) = answer.split_at(answer.find(',').unwrap() + 1);
    let event = |line: &str| Say::events(&[line]);
    let cells = [
        Say::json(&answer),
        Say::with("200 OK\r\nContent-Type: application/json; charset=utf-8", &answer),
        Say::with("200 OK\r\nContent-Type: Application/JSON", &answer),
        Say::with("200 OK\r\nX: no type", &answer),
        Say::raw(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{answer}")).close(),
        event(&format!("event: message\ndata: {answer}\n\n")),
        event(&format!("event: message\r\ndata: {answer}\r\n\r\n")),
        event(&format!("event: message\rdata: {answer}\r\r")),
        Say::events(&["event: message\r", &format!("\ndata: {answer}\r"), "\n\r", "\n"]),
        Say::events(&[": hb\n\n", ": hb\n", &format!("data: {answer}\n\n")]),
        event(&format!("data: {answer}\n\n")),
        event(&format!("data:{answer}\n\n")),
        event(&format!("data: {head}\ndata: {tail}\n\n")),
        event(&format!("\u{feff}data: {answer}\n\n")),
        Say::events(&["id: 1\ndata:\n\n", &format!("data: {answer}\n\n")]),
        Say::events(&["id: 1\ndata: \n\n", &format!("foo: 1\ndata: {answer}\n\n")]),
        event(&format!("event: other\ndata: x\n\ndata: {answer}\n\n")),
        Say::open_events(&[&format!("data: {answer}\n\n")]),
        Say::with(
            "200 OK\r\nContent-Type: text/event-stream; charset=utf-8",
            &format!("data: {answer}\n\n"),
        ),
    ];
    for (n, reply) in cells.into_iter().enumerate() {
        let server = Server::start(handshake(refused("405 No"), accepted(), reply)).await;
        let mut link = link(&server);
        open(&mut link).await;
        let frames = call(&mut link, request(2, "tools/call")).await;
        let frames = frames.unwrap_or_else(|error| panic!("cell {n}: {error}"));
        assert_eq!(frames.len(), 1, "cell {n}: {frames:?}");
        assert_eq!(frames[0].replace('\n', ""), answer, "cell {n}");
    }
}

#[tokio::test]
async fn a_notification_before_the_answer_comes_first() {
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let reply = Say::events(&[&format!("data: {notice}\n\ndata: {}\n\n", result(2))]);
    let server = Server::start(move |_, _| reply.clone()).await;
    let frames = call(&mut link(&server), request(2, "tools/call")).await;
    assert_eq!(frames.unwrap(), [notice.to_owned(), result(2)]);
}

#[tokio::test]
async fn an_event_without_its_blank_line_is_a_dropped_stream() {
    let reply = Say::events(&[&format!("data: {}\n", result(2))]);
    let server = Server::start(move |_, _| reply.clone()).await;
    let failed = call(&mut link(&server), request(2, "tools/call")).await;
    assert!(matches!(failed, Err(LinkError::Dropped)), "{failed:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_success_that_is_no_answer_fails_the_request_at_once() {
    let cells = [
        (
            Say::with("200 OK\r\nContent-Type: text/html", "<html><title>login</title>"),
            "titled \"login\"",
        ),
        (refused("200 OK\r\nContent-Type: application/json"), "empty body"),
        (accepted(), "empty body"),
        (Say::json("null"), "null"),
    ];
    for (reply, says) in cells {
        let server = Server::start(move |_, _| reply.clone()).await;
        match call(&mut link(&server), request(2, "tools/call")).await {
            Err(LinkError::NotMcp { why }) => assert!(why.contains(says), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_body_that_answers_something_else_is_handed_on_and_the_request_fails() {
    let server = Server::start(|_, _| Say::json(&result(99))).await;
    let mut link = link(&server);
    let failed = call(&mut link, request(2, "tools/call")).await;
    assert!(matches!(failed, Err(LinkError::NotMcp { .. })), "{failed:?}");
}

#[tokio::test]
async fn too_much_is_cut_and_named() {
    let big = format!(r#"{{"jsonrpc":"2.0","id":2,"result":"{}"}}"#, "x".repeat(LIMIT));
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{big}\r\n0\r\n\r\n",
        big.len()
    );
    let cells = [Say::json(&big), Say::raw(chunked), Say::events(&[&format!("data: {big}\n\n")])];
    for (n, reply) in cells.into_iter().enumerate() {
        let server = Server::start(move |_, _| reply.clone()).await;
        let mut link = link(&server);
        link.send(request(2, "tools/call")).unwrap();
        match event(&mut link).await {
            LinkEvent::Oversized { head, of: Some(2) } => {
                assert!(head.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":2"), "cell {n}");
                assert_eq!(head.len(), 4096, "cell {n}");
            }
            other => panic!("cell {n}: {other:?}"),
        }
        let failed = event(&mut link).await;
        assert!(
            matches!(failed, LinkEvent::Failed { id: 2, error: LinkError::TooLarge { .. } }),
            "cell {n}: {failed:?}"
        );
    }
}

#[tokio::test]
async fn a_notification_over_the_limit_costs_only_itself() {
    let big = format!(r#"{{"jsonrpc":"2.0","method":"x","params":"{}"}}"#, "x".repeat(LIMIT));
    let reply = Say::events(&[&format!("data: {big}\n\n"), &format!("data: {}\n\n", result(2))]);
    let server = Server::start(move |_, _| reply.clone()).await;
    let mut link = link(&server);
    link.send(request(2, "tools/call")).unwrap();
    assert!(matches!(event(&mut link).await, LinkEvent::Oversized { of: None, .. }));
    match event(&mut link).await {
        LinkEvent::Frame { bytes, of: Some(2) } => assert_eq!(bytes, result(2)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    let event = format!("data: {}\n\n", result(2));
    for (reply, most) in [(Say::json(&result(2)), 2), (Say::events(&[&event]), 4)] {
        let server = Server::start(move |_, _| reply.clone()).await;
        let mut link = link(&server);
        for _ in 0..20 {
            call(&mut link, request(2, "tools/call")).await.unwrap();
        }
        let connections = server.seen().iter().map(|seen| seen.connection).max().unwrap() + 1;
        assert!(connections <= most, "{connections} connections for 20 calls");
    }
}
