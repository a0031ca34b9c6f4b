//! B05 The server that will not say pong.

use std::path::PathBuf;
use std::time::Duration;

use herm_core::config::Server;
use herm_host::{Host, Setup, State};
use herm_testkit::{Sandbox, fake, fake_log, wait_until};
use tokio::time::{Instant, sleep, sleep_until};

use crate::support::{call, came, child, gone, result, scaled, starts, text};

/// The numbers of the cases, halved: a list takes as long as a ping and its second may.
fn halved(name: &str, log: &std::path::Path) -> Server {
    let mut server = child(name, &fake(name, log));
    scaled(&mut server);
    server.upkeep.keepalive = Duration::from_millis(500);
    server.supervision.probe_timeout = Duration::from_millis(1500);
    server.supervision.stop_grace = Duration::from_millis(500);
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_say_pong_is_not_dead() {
    let sandbox = Sandbox::new();
    let log = |name: &str| -> PathBuf { sandbox.root().join(name) };
    let odd = ["b05a", "b05b", "b05c", "b05d"];
    let servers = odd.iter().map(|name| halved(name, &log(name))).collect();
    let host = Host::new(Setup::new(servers));
    let begin = Instant::now();
    for (name, ready) in host.connect(&[]).await {
        ready.unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    for round in 1..=3 {
        sleep_until(begin + round * Duration::from_millis(2500)).await;
        for name in odd {
            let echo = host.call(call(&name.parse().unwrap(), "echo", r#"{"s":"here"}"#)).await;
            assert_eq!(text(&result(echo).unwrap()), "here", "{name}");
        }
        for status in host.status() {
            // Silence raises a doubt, until the next answer.
            let fine = status.state == State::Ready
                || (status.state == State::Suspect && status.name.as_str() == "b05a");
            assert!(fine, "{status:?}");
        }
    }
    sleep(Duration::from_millis(1500)).await;
    for name in odd {
        assert_eq!(fake_log::spawns(&log(name)), 1, "{name} was started again");
        let lists = came(&log(name), "tools/list");
        assert!(lists <= 2, "{name} was listed {lists} times");
        assert!(came(&log(name), "ping") >= 1, "{name} was never pinged");
    }
    host.stop().await;
    gone(&sandbox.root().to_string_lossy());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_answers_nothing_is_dead_and_replaced() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let mut server = halved("b05e", &log);
    server.name = "silent".parse().unwrap();
    let name = server.name.clone();
    let host = Host::new(Setup::new(vec![server]));
    host.call(call(&name, "echo", "{}")).await.unwrap();
    let mut suspected = false;
    let second = async {
        while fake_log::spawns(&log) < 2 {
            suspected |= host.status()[0].state == State::Suspect;
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), second).await.expect("it is replaced");
    assert!(suspected, "`suspect` was never shown");
    wait_until(Duration::from_secs(5), "the second is ready", || {
        (host.status()[0].state == State::Ready).then_some(())
    });
    let starts = starts(&log);
    // Interval, two probes, the grace of a stop, back-off, and a second for the machine.
    let died = starts[1] - starts[0];
    assert!((3500.0..6500.0).contains(&died), "replaced after {died} ms");
    host.stop().await;
}
