//! What is remembered from one start to the next: the era, the wire, the names.

use std::path::Path;

use herm_core::config::{Protocol, Server};
use herm_host::{Host, Request, Setup, Target};
use herm_testkit::{Running, Sandbox, binary, fake, fake_log};

use crate::support::{child, http, incoming, limited, result, text};

/// Starts once with the state of this sandbox; gives what was asked to open, in order.
async fn start(sandbox: &Sandbox, server: &Server, log: &Path) -> Vec<&'static str> {
    let before = fake_log::read(log).len();
    let mut setup = Setup::new(vec![server.clone()]);
    setup.state = Some(sandbox.home());
    let host = Host::new(setup);
    let connected = host.connect(&[]).await.remove(0).1;
    connected.unwrap_or_else(|why| panic!("{why}"));
    host.stop().await;
    let openings = fake_log::read(log).into_iter().skip(before).filter_map(|entry| {
        let text = match entry.event.as_str() {
            "in" => entry.data["text"].as_str()?,
            "request" => entry.data["body"].as_str()?,
            _ => return None,
        };
        ["initialize", "server/discover"]
            .into_iter()
            .find(|method| text.contains(&format!(r#""method":"{method}""#)))
    });
    openings.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_start_goes_straight_to_the_remembered_era() {
    for (script, protocol, first, second) in [
        ("modern", Protocol::Auto, &["initialize", "server/discover"][..], "server/discover"),
        ("legacy", Protocol::Stateless, &["server/discover", "initialize"], "initialize"),
        ("legacy-exits", Protocol::Stateless, &["server/discover", "initialize"], "initialize"),
    ] {
        let sandbox = Sandbox::new();
        let log = sandbox.root().join("log");
        let mut server = limited(child("era", &fake(script, &log)), 10);
        server.protocol = protocol;
        assert_eq!(start(&sandbox, &server, &log).await, first, "{script}");
        for _ in 0..2 {
            assert_eq!(start(&sandbox, &server, &log).await, [second], "{script}");
        }
    }
}

/// The fake over HTTP on this port.
fn at(sandbox: &Sandbox, script: &str, port: &str, log: &Path) -> Running {
    let mut command = sandbox.command(binary("herm-fake"));
    command.args([script, "--http", port, "--log"]).arg(log);
    Running::start(command)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdict_that_proves_wrong_is_dropped_and_asked_for_again() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let running = at(&sandbox, "modern", "0", &log);
    let url = running.url().to_owned();
    let port = url.rsplit_once(':').unwrap().1.trim_end_matches("/mcp").to_owned();
    let server = limited(http("era", &url), 10);
    assert_eq!(start(&sandbox, &server, &log).await, ["initialize", "server/discover"]);
    assert_eq!(start(&sandbox, &server, &log).await, ["server/discover"]);
    drop(running);
    let running = at(&sandbox, "good", &port, &log);
    assert_eq!(start(&sandbox, &server, &log).await, ["server/discover", "initialize"]);
    assert_eq!(start(&sandbox, &server, &log).await, ["initialize"]);
    drop(running);
    let _running = at(&sandbox, "modern", &port, &log);
    assert_eq!(start(&sandbox, &server, &log).await, ["initialize", "server/discover"]);
    assert_eq!(start(&sandbox, &server, &log).await, ["server/discover"]);
}

/// Exposed and raw name of each tool; each is called by its exposed name.
async fn names(sandbox: &Sandbox, script: &str) -> Vec<(String, String)> {
    let log = sandbox.root().join("log");
    let server = limited(child("names", &fake(script, &log)), 10);
    let mut setup = Setup::new(vec![server]);
    setup.state = Some(sandbox.home());
    let host = Host::new(setup);
    host.connect(&[]).await.remove(0).1.unwrap();
    let mut names = Vec::new();
    for tool in host.catalogue().tools() {
        let request = Request::new(Target::Exposed(tool.name.clone()));
        let called = text(&result(host.call(request).await).unwrap());
        assert_eq!(called, tool.view.name, "{} reached another tool", tool.name);
        names.push((tool.name.clone(), tool.view.name.clone()));
    }
    host.stop().await;
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_outlive_a_restart_and_a_shuffled_list() {
    let sandbox = Sandbox::new();
    let first = names(&sandbox, "names").await;
    assert_eq!(first.len(), 10, "{first:?}");
    for (name, _) in &first {
        let good = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        assert!(name.len() <= 64 && name.chars().all(good), "{name}");
    }
    let mut folded: Vec<String> = first.iter().map(|(name, _)| name.to_lowercase()).collect();
    folded.sort();
    folded.dedup();
    assert_eq!(folded.len(), first.len(), "two names differ in case only: {first:?}");
    assert_eq!(names(&sandbox, "names").await, first);
    assert_eq!(names(&sandbox, "names-shuffled").await, first);
    assert!(sandbox.home().join("names.json").is_file());
    assert_eq!(incoming(&sandbox.root().join("log"), "tools/call").len(), 30);
}
