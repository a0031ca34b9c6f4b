//! A proxy: asked for everything that is not on this machine, and for nothing that is.

use super::server::{Say, Server};
use super::*;

#[tokio::test]
async fn a_proxy_of_the_entry_carries_the_request() {
    let proxy = Server::start(|_, _| Say::json(&result(1))).await;
    let mut target = proxy.target();
    target.url = "http://mcp.example.test/mcp".into();
    target.proxy = Some(proxy.origin().into());
    let mut link = HttpLink::new(Client::new(&target).unwrap(), &target, LIMIT);
    call(&mut link, request(1, "initialize")).await.unwrap();
    assert_eq!(proxy.seen()[0].path, "http://mcp.example.test/mcp");
}

#[tokio::test]
async fn a_server_on_this_machine_is_reached_without_the_proxy() {
    let proxy = Server::start(|_, _| Say::json(&result(1))).await;
    let server = Server::start(|_, _| Say::json(&result(1))).await;
    let mut target = server.target();
    target.proxy = Some(proxy.origin().into());
    let mut link = HttpLink::new(Client::new(&target).unwrap(), &target, LIMIT);
    call(&mut link, request(1, "initialize")).await.unwrap();
    assert_eq!((proxy.seen().len(), server.seen().len()), (0, 1));
}
