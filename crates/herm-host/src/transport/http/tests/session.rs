//! Sessions, versions, and refusals.

use super::server::{Say, Seen, Server};
use super::*;

/// A server that gives the session `s1` and forgets it when `tools/call` comes.
fn forgetful(refusal: Say) -> impl Fn(&Seen, usize) -> Say + Send + Sync {
    move |seen, _| match (seen.method.as_str(), seen.rpc().as_str()) {
        ("GET", _) => Say::with("405 No", ""),
        ("DELETE", _) => Say::with("405 No", ""),
        (_, "initialize") => {
            let head = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s1";
            Say::with(head, &result(1))
        }
        (_, "tools/list") => {
            let head = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: other";
            Say::with(head, &result(2))
        }
        (_, "tools/call" | "notifications/cancelled") => refusal.clone(),
        _ => Say::with("202 Accepted", ""),
    }
}

fn unknown() -> Say {
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone"}}"#;
    Say::with("404 Not Found\r\nContent-Type: application/json", body)
}

#[tokio::test]
async fn session_and_version_go_with_everything_after_initialize() {
    let server = Server::start(forgetful(unknown())).await;
    let mut link = link(&server);
    open(&mut link).await;
    call(&mut link, request(2, "tools/list")).await.unwrap();
    call(&mut link, request(2, "tools/list")).await.unwrap();
    drop(link.close(GRACES).await);
    let seen = server.seen();
    assert_eq!(seen[0].header("mcp-session-id"), None);
    assert_eq!(seen[0].header("mcp-protocol-version"), None);
    for later in &seen[1..] {
        assert_eq!(later.header("mcp-session-id"), Some("s1"), "{later:?}");
        assert_eq!(later.header("mcp-protocol-version"), Some("2025-11-25"), "{later:?}");
    }
    let post = &server.seen_by("POST")[1];
    assert_eq!(post.rpc(), "notifications/initialized");
    assert_eq!(post.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(post.header("content-type"), Some("application/json"));
    let agent = concat!("herm/", env!("CARGO_PKG_VERSION"));
    assert_eq!(post.header("user-agent"), Some(agent));
    assert_eq!(server.seen_by("DELETE").len(), 1);
}

#[tokio::test]
async fn a_session_that_is_gone_is_told_apart() {
    let complaint = Say::with("400 Bad Request\r\nContent-Type: text/plain", "unknown session");
    for refusal in [unknown(), complaint] {
        let server = Server::start(forgetful(refusal)).await;
        let mut link = link(&server);
        open(&mut link).await;
        let failed = call(&mut link, request(3, "tools/call")).await;
        assert!(matches!(failed, Err(LinkError::SessionUnknown)), "{failed:?}");
        drop(link.close(GRACES).await);
        assert!(server.seen_by("DELETE").is_empty(), "a DELETE for a session that is gone");
    }
}

#[tokio::test]
async fn a_notification_that_finds_the_session_gone_ends_the_link() {
    let server = Server::start(forgetful(unknown())).await;
    let mut link = link(&server);
    open(&mut link).await;
    link.send(notification("notifications/cancelled")).unwrap();
    assert!(matches!(event(&mut link).await, LinkEvent::Closed(LinkError::SessionUnknown)));
    assert!(link.send(request(3, "tools/call")).is_err());
    assert!(matches!(event(&mut link).await, LinkEvent::Closed(_)));
}

#[tokio::test]
async fn without_a_session_404_and_400_are_plain_errors() {
    for (head, status) in [("404 Not Found", 404), ("400 Bad Request", 400)] {
        let server = Server::start(move |_, _| Say::with(head, "no such session")).await;
        match call(&mut link(&server), request(2, "tools/call")).await {
            Err(LinkError::Http { status: got, body, rpc: false, .. }) => {
                assert_eq!((got, body.as_str()), (status, "no such session"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_refusal_keeps_status_body_challenges_and_delay() {
    let head = "401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"a\"\r\nWWW-Authenticate: Basic\r\nRetry-After: 7";
    let server = Server::start(move |_, _| Say::with(head, "token\r\nexpired\x1b[0m")).await;
    match call(&mut link(&server), request(2, "tools/call")).await {
        Err(LinkError::Http { status: 401, body, rpc: false, challenges, retry_after }) => {
            assert_eq!(body, "token  expired[0m");
            assert_eq!(challenges, ["Bearer realm=\"a\"", "Basic"]);
            assert_eq!(retry_after, Some(7));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_json_rpc_error_in_a_refusal_is_known_and_whole() {
    let body = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"v","data":{"supported":["2025-06-18"]}}}"#;
    let server = Server::start(move |_, _| Say::with("400 Bad Request", body)).await;
    match call(&mut link(&server), modern(2, "server/discover")).await {
        Err(LinkError::Http { status: 400, body: got, rpc: true, .. }) => assert_eq!(got, body),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_modern_link_has_no_session_no_get_and_no_delete() {
    let server = Server::start(|seen, _| {
        let id = if seen.rpc() == "server/discover" { 1 } else { 2 };
        let head = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s1";
        Say::with(head, &result(id))
    })
    .await;
    let mut link = link(&server);
    call(&mut link, modern(1, "server/discover")).await.unwrap();
    link.opened(Revision::V2026_07_28);
    call(&mut link, modern(2, "tools/list")).await.unwrap();
    drop(link.close(GRACES).await);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for post in seen {
        assert_eq!(post.header("mcp-session-id"), None);
        assert_eq!(post.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(post.header("mcp-method"), Some(post.rpc().as_str()));
    }
}

#[tokio::test]
async fn a_header_of_the_entry_wins_and_a_password_becomes_one() {
    let server = Server::start(|_, _| Say::json(&result(1))).await;
    let mut target = server::target(&server.origin().replace("//", "//user:pw@"));
    target.headers = vec![
        ("mcp-protocol-version".to_owned(), "mine".into()),
        ("X-Key".to_owned(), "secret".into()),
    ];
    let client = Client::new(&target).unwrap();
    let shown = format!("{client:?}");
    let mut link = HttpLink::new(client, &target, LIMIT);
    call(&mut link, modern(1, "server/discover")).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.header("mcp-protocol-version"), Some("mine"));
    assert_eq!(seen.header("x-key"), Some("secret"));
    assert_eq!(seen.header("authorization"), Some("Basic dXNlcjpwdw=="));
    let shown = format!("{shown} {link:?}");
    assert!(!shown.contains("secret") && !shown.contains("pw"), "{shown}");
}

#[tokio::test]
async fn notifications_keep_their_order_and_requests_wait_for_initialized() {
    let server = Server::start(|seen, _| match seen.rpc().as_str() {
        rpc if rpc.starts_with("notifications/") => Say::with("202 Accepted", ""),
        _ => Say::json(&result(2)),
    })
    .await;
    let mut link = link(&server);
    link.send(notification("notifications/initialized")).unwrap();
    for n in 0..5 {
        link.send(notification(&format!("notifications/{n}"))).unwrap();
    }
    call(&mut link, request(2, "tools/list")).await.unwrap();
    assert_eq!(server.seen()[0].rpc(), "notifications/initialized");
    quiet_until(&mut link, server.asked(7)).await;
    let notices = server.seen().into_iter().map(|seen| seen.rpc());
    let notices: Vec<_> = notices.filter(|rpc| rpc.starts_with("notifications/")).skip(1).collect();
    let expected: Vec<_> = (0..5).map(|n| format!("notifications/{n}")).collect();
    assert_eq!(notices, expected);
}

#[tokio::test]
async fn nothing_listens_is_a_connect_error_without_secrets() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let target = server::target(&format!("http://user:pw@{address}/mcp?key=s3cret"));
    let mut link = HttpLink::new(Client::new(&target).unwrap(), &target, LIMIT);
    match call(&mut link, request(1, "initialize")).await {
        Err(error @ LinkError::Connect { .. }) => {
            let shown = error.to_string();
            assert!(shown.contains(&address.to_string()) && shown.contains("refused"), "{shown}");
            assert!(!shown.contains("pw") && !shown.contains("s3cret"), "{shown}");
        }
        other => panic!("{other:?}"),
    }
}
