//! Streams that drop, come back, or belong to nobody.

use super::server::{Say, Seen, Server};
use super::*;
use crate::answer::Answerer;
use crate::clock::Clock;
use crate::refusal::Deadline;
use crate::session::peer::{Ask, PeerConfig, peer};
use crate::transport::Link;

/// A POST whose stream ends early, and what each GET brings.
fn dropping(gets: Vec<Say>) -> impl Fn(&Seen, usize) -> Say + Send + Sync {
    move |seen, number| match seen.method.as_str() {
        "POST" => Say::events(&["retry: 500\nid: e1\ndata:\n\n"]),
        _ => gets.get(number - 1).cloned().unwrap_or_else(|| Say::with("404 No", "")),
    }
}

#[tokio::test]
async fn a_stream_closed_on_purpose_is_resumed_after_the_delay_it_names() {
    let answer = Say::events(&[&format!("id: e2\ndata: {}\n\n", result(2))]);
    let server = Server::start(dropping(vec![answer])).await;
    call(&mut link(&server), request(2, "tools/call")).await.unwrap();
    let seen = server.seen();
    let waited = seen[1].at - seen[0].at;
    assert!(waited >= Duration::from_millis(480), "{waited:?}");
    assert!(waited < Duration::from_millis(1000), "{waited:?}");
    assert_eq!(seen[1].method, "GET");
    assert_eq!(seen[1].header("last-event-id"), Some("e1"));
    assert_eq!(seen[1].header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_resumption_without_events_keeps_its_place() {
    let quick = "retry: 10\n\n";
    let answer = format!("data: {}\n\n", result(2));
    let gets = vec![Say::events(&[quick]), Say::with("503 Later", ""), Say::events(&[&answer])];
    let server = Server::start(dropping(gets)).await;
    call(&mut link(&server), request(2, "tools/call")).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 4);
    for get in &seen[1..] {
        assert_eq!(get.header("last-event-id"), Some("e1"));
    }
}

#[tokio::test]
async fn a_resumption_that_leads_nowhere_ends_as_dropped() {
    let many = vec![Say::events(&["retry: 1\n\n"]); 50];
    for (gets, expected) in [(many, 6), (vec![], 2)] {
        let server = Server::start(dropping(gets)).await;
        let failed = call(&mut link(&server), request(2, "tools/call")).await;
        assert!(matches!(failed, Err(LinkError::Dropped)), "{failed:?}");
        assert_eq!(server.seen().len(), expected);
    }
}

#[tokio::test]
async fn a_modern_stream_is_lost_with_its_connection() {
    let server = Server::start(dropping(vec![])).await;
    let failed = call(&mut link(&server), modern(2, "tools/call")).await;
    assert!(matches!(failed, Err(LinkError::Dropped)), "{failed:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_connection_that_ends_before_the_head_is_no_refusal() {
    let server = Server::start(|_, _| Say::raw("").close()).await;
    let failed = call(&mut link(&server), request(2, "tools/call")).await;
    assert!(matches!(failed, Err(LinkError::BadHttp { .. })), "{failed:?}");
}

#[tokio::test]
async fn the_get_stream_brings_what_is_said_unasked_and_comes_back() {
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let server = Server::start(move |seen, _| match (seen.method.as_str(), seen.rpc().as_str()) {
        ("GET", _) => {
            let id = seen.header("last-event-id").map_or("g1", |_| "g2");
            Say::events(&[&format!("retry: 150\nid: {id}\ndata: {notice}\n\n")])
        }
        (_, "initialize") => Say::json(&result(1)),
        _ => Say::with("202 Accepted", ""),
    })
    .await;
    let mut link = link(&server);
    open(&mut link).await;
    for _ in 0..2 {
        match event(&mut link).await {
            LinkEvent::Frame { bytes, of: None } => assert_eq!(bytes, notice),
            other => panic!("{other:?}"),
        }
    }
    let gets = server.seen_by("GET");
    assert_eq!(gets[0].header("last-event-id"), None);
    assert_eq!(gets[1].header("last-event-id"), Some("g1"));
    assert!(gets[1].at - gets[0].at >= Duration::from_millis(150));
}

#[tokio::test]
async fn a_get_stream_that_closes_at_once_is_no_busy_loop() {
    let server = Server::start(|seen, _| match (seen.method.as_str(), seen.rpc().as_str()) {
        ("GET", _) => Say::events(&[]),
        (_, "initialize") => Say::json(&result(1)),
        _ => Say::with("202 Accepted", ""),
    })
    .await;
    let mut link = link(&server);
    open(&mut link).await;
    quiet_until(&mut link, server.asked(4)).await;
    let gets = server.seen_by("GET");
    assert!(gets[1].at - gets[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn an_abandoned_request_closes_its_stream_and_no_other() {
    let server = Server::start(|seen, _| match seen.rpc().as_str() {
        "slow" => Say::open_events(&[": wait\n\n"]),
        _ => Say::json(&result(2)),
    })
    .await;
    let mut link = link(&server);
    link.send(modern(1, "slow")).unwrap();
    call(&mut link, modern(2, "tools/list")).await.unwrap();
    link.abandon(1);
    call(&mut link, modern(2, "tools/list")).await.unwrap();
    assert!(link.open.is_empty());
    tokio::time::timeout(PATIENCE, server.closed(1)).await.expect("the stream stays open");
}

#[tokio::test]
async fn too_many_open_requests_are_refused() {
    let server = Server::start(|_, _| Say::hang()).await;
    let mut link = link(&server);
    for id in 0..super::super::OPEN_MAX as u64 {
        link.send(request(id, "tools/call")).unwrap();
    }
    let full = link.send(request(9999, "tools/call"));
    assert_eq!(full, Err(crate::transport::NotSent::Full));
}

#[tokio::test]
async fn a_get_stream_keeps_its_place_and_delay_over_empty_ones() {
    let server = Server::start(|seen, _| match (seen.method.as_str(), seen.rpc().as_str()) {
        ("GET", _) if seen.header("last-event-id").is_none() => {
            Say::events(&["retry: 150\nid: g1\ndata:\n\n"])
        }
        ("GET", _) => Say::events(&[]),
        (_, "initialize") => Say::json(&result(1)),
        _ => Say::with("202 Accepted", ""),
    })
    .await;
    let mut link = link(&server);
    open(&mut link).await;
    quiet_until(&mut link, server.asked(7)).await;
    let gets = server.seen_by("GET");
    for pair in gets.windows(2) {
        assert_eq!(pair[1].header("last-event-id"), Some("g1"));
        let waited = pair[1].at - pair[0].at;
        let asked = Duration::from_millis(150)..Duration::from_millis(900);
        assert!(asked.contains(&waited), "{waited:?}");
    }
}

#[tokio::test]
async fn an_answer_on_the_stream_of_another_request_ends_the_one_that_waits() {
    let both = format!("data: {}\n\ndata: {}\n\n", result(1), result(2));
    let server = Server::start(move |_, number| match number {
        0 => Say::open_events(&[]),
        _ => Say::events(&[&both]),
    })
    .await;
    let config = PeerConfig {
        server: "s".parse().unwrap(),
        places: 2,
        queue: PATIENCE,
        limit: LIMIT,
        answerer: Answerer::None,
        clock: Clock::start(),
    };
    let (handle, task) = peer(Link::Http(Box::new(link(&server))), &config);
    let ask = || Ask::own("ping", PATIENCE, Deadline::Probe);
    let asked = async {
        let second = async {
            server.asked(1).await;
            handle.request(ask(), |_| "{}".to_owned()).await.unwrap();
        };
        let (first, ()) = tokio::join!(handle.request(ask(), |_| "{}".to_owned()), second);
        first.unwrap();
        // Nobody waits for what its stream may still bring.
        server.closed(1).await;
    };
    tokio::select! {
        ended = task => panic!("{ended:?}"),
        asked = tokio::time::timeout(PATIENCE, asked) => asked.expect("its stream is kept open"),
    }
}
