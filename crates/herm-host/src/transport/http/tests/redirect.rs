//! Redirects: within the origin, and nowhere else.

use super::server::{Say, Server};
use super::*;

fn keyed(server: &Server) -> HttpLink {
    let mut target = server.target();
    target.headers = vec![("Authorization".to_owned(), "Bearer k3y".into())];
    HttpLink::new(Client::new(&target).unwrap(), &target, LIMIT)
}

#[tokio::test]
async fn within_the_origin_the_post_is_repeated_whole() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let head = format!("{status}\r\nLocation: /mcp/");
        let server = Server::start(move |seen, _| match seen.path.as_str() {
            "/mcp" => Say::with(&head, ""),
            _ => Say::json(&result(1)),
        })
        .await;
        call(&mut keyed(&server), request(1, "initialize")).await.unwrap();
        let seen = server.seen();
        assert_eq!((seen[1].method.as_str(), seen[1].path.as_str()), ("POST", "/mcp/"));
        assert_eq!(seen[1].body, seen[0].body);
        assert_eq!(seen[1].header("authorization"), Some("Bearer k3y"));
    }
}

#[tokio::test]
async fn another_origin_never_hears_of_us() {
    let other = Server::start(|_, _| Say::json(&result(1))).await;
    for status in [301, 302, 303, 307, 308] {
        let head = format!("{status} Elsewhere\r\nLocation: {}/mcp?token=s", other.origin());
        let server = Server::start(move |_, _| Say::with(&head, "")).await;
        match call(&mut keyed(&server), request(1, "initialize")).await {
            Err(error @ LinkError::Redirect { .. }) => {
                let shown = error.to_string();
                let there = format!("({status}) to {}/mcp,", other.origin());
                assert!(shown.contains(&there), "{shown}");
            }
            got => panic!("{status}: {got:?}"),
        }
    }
    let heard = other.seen();
    assert!(heard.is_empty(), "{:?}", heard.iter().map(server::Seen::all).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_redirect_that_would_make_it_a_get_is_an_error() {
    for status in [301, 302, 303] {
        let head = format!("{status} Moved\r\nLocation: /mcp/");
        let server = Server::start(move |_, _| Say::with(&head, "")).await;
        let failed = call(&mut keyed(&server), request(1, "initialize")).await;
        assert!(
            matches!(failed, Err(LinkError::Redirect { status: got, .. }) if got == status),
            "{failed:?}"
        );
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_loop_of_redirects_ends() {
    let server = Server::start(|_, _| Say::with("307 Again\r\nLocation: /mcp", "")).await;
    let failed = call(&mut keyed(&server), request(1, "initialize")).await;
    assert!(
        matches!(failed, Err(LinkError::RedirectLoop { status: 307, times: 5, .. })),
        "{failed:?}"
    );
    let shown = failed.unwrap_err().to_string();
    assert!(!shown.contains("into the configuration"), "that URL redirects too: {shown}");
    assert_eq!(server.seen().len(), 6);
}
