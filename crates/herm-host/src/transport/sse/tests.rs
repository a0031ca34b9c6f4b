//! HTTP+SSE against the scripted server.

use std::time::Duration;

use super::SseLink;
use crate::transport::http::Client;
use crate::transport::http::tests::server::{Say, Server};
use crate::transport::http::tests::{GRACES, LIMIT, notification, request, result};
use crate::transport::{LinkError, LinkEvent};

const PATIENCE: Duration = Duration::from_secs(10);

async fn open(server: &Server) -> Result<SseLink, LinkError> {
    let target = server.target();
    let client = Client::new(&target).unwrap();
    let opening = SseLink::open(client, &target, LIMIT);
    tokio::time::timeout(PATIENCE, opening).await.expect("the opening hangs")
}

async fn event(link: &mut SseLink) -> LinkEvent {
    tokio::time::timeout(PATIENCE, link.next()).await.expect("the link hangs")
}

#[tokio::test]
async fn an_endpoint_is_found_in_every_spelling() {
    let cells = [
        "event: endpoint\ndata: /m?s=1\n\n",
        "event: endpoint\r\ndata: /m?s=1\r\n\r\n",
        ": hello\n\nevent: endpoint\ndata: m?s=1\n\n",
        "data: /m?s=1\n\n",
        "id: 1\ndata:\n\nevent: endpoint\ndata:/m?s=1\n\n",
    ];
    for stream in cells {
        let server = Server::start(move |_, _| Say::open_events(&[stream])).await;
        let link = open(&server).await.unwrap_or_else(|error| panic!("{stream}: {error}"));
        assert_eq!(link.endpoint.as_str(), format!("{}/m?s=1", server.origin()), "{stream}");
        assert_eq!(server.seen()[0].header("accept"), Some("text/event-stream"));
    }
}

#[tokio::test]
async fn what_is_no_endpoint_is_named() {
    let cells = [
        (Say::events(&[]), "ended"),
        (Say::events(&["event: endpoint\ndata: http://127.0.0.1:1/m?k=s\n\n"]), "127.0.0.1:1/m"),
        (Say::events(&["data: {}\n\n"]), "`message`"),
        (Say::with("404 Not Found", ""), "404"),
        (Say::with("405 Not Allowed", ""), "405"),
        (Say::with("200 OK\r\nContent-Type: text/html", "<html>"), "text/html"),
    ];
    for (say, named) in cells {
        let server = Server::start(move |_, _| say.clone()).await;
        match open(&server).await {
            Err(LinkError::NoEndpoint { why }) => {
                assert!(why.contains(named) && !why.contains("k=s"), "{why}");
            }
            other => panic!("{named}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_refusal_that_says_nothing_of_the_wire_stays_a_refusal() {
    for status in [401, 403, 429, 500, 503] {
        let head = format!("{status} No\r\nWWW-Authenticate: Bearer");
        let server = Server::start(move |_, _| Say::with(&head, "")).await;
        match open(&server).await {
            Err(LinkError::Http { status: got, challenges, .. }) => {
                assert_eq!((got, challenges.len()), (status, 1));
            }
            other => panic!("{status}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn answers_come_on_the_stream_and_its_end_is_the_end() {
    let stream =
        format!("event: endpoint\ndata: /m\n\ndata: {}\n\nevent: x\ndata: 1\n\n", result(1));
    let server = Server::start(move |seen, _| match seen.method.as_str() {
        "GET" => Say::events(&[&stream]),
        _ => Say::with("202 Accepted", "Accepted"),
    })
    .await;
    let mut link = open(&server).await.unwrap();
    link.send(request(1, "initialize")).unwrap();
    match event(&mut link).await {
        LinkEvent::Frame { bytes, of: None } => assert_eq!(bytes, result(1)),
        other => panic!("{other:?}"),
    }
    assert!(matches!(event(&mut link).await, LinkEvent::Closed(LinkError::Dropped)));
    assert!(link.send(request(2, "tools/list")).is_err());
    assert!(matches!(link.close(GRACES).await, LinkError::Dropped));
}

#[tokio::test]
async fn a_post_that_is_refused_fails_its_request_only() {
    let server = Server::start(move |seen, _| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", _) => Say::open_events(&["event: endpoint\ndata: /m\n\n"]),
        (_, "/m") if seen.rpc() == "tools/call" => Say::with("500 Oh", "broken"),
        (_, "/m") => Say::with("202 Accepted", ""),
        _ => Say::with("404 Not Found", ""),
    })
    .await;
    let mut link = open(&server).await.unwrap();
    link.send(notification("notifications/initialized")).unwrap();
    link.send(request(2, "tools/call")).unwrap();
    match event(&mut link).await {
        LinkEvent::Failed { id: 2, error: LinkError::Http { status: 500, body, .. } } => {
            assert_eq!(body, "broken");
        }
        other => panic!("{other:?}"),
    }
    let posts = server.seen_by("POST");
    assert_eq!(posts[0].rpc(), "notifications/initialized");
    assert_eq!(posts[0].header("content-type"), Some("application/json"));
    assert!(link.send(request(3, "tools/list")).is_ok());
}
