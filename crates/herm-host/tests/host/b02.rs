//! B02 Dead on arrival, many passes.

use std::time::Duration;

use futures_util::future::join_all;
use herm_core::config::Server;
use herm_host::{Event, Host, Setup, State};
use herm_testkit::{Sandbox, fake, fake_log};
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Case, call, child, scaled, starts, stdio};

const PASS: Duration = Duration::from_millis(100);

/// Looks at the catalogue, and wants the server, each 100 ms.
async fn passes(case: &Case, time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        assert!(case.tools().is_empty());
        let started = Instant::now();
        case.connect().await.unwrap_err();
        // A start, or a back-off that is short enough to wait for.
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
        sleep(PASS).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_on_arrival_is_started_ever_more_rarely() {
    let case = Case::with("b02", scaled, |_| {});
    let mut events = case.host.events();
    case.beside(passes(&case, Duration::from_secs(15))).await;
    let starts = starts(&case.log);
    assert!((6..=12).contains(&starts.len()), "{} starts", starts.len());
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (gap, least) in gaps.iter().zip([200.0, 400.0, 800.0, 1600.0]) {
        assert!(*gap >= least * 0.98, "{gap} ms, at least {least}: {gaps:?}");
    }
    // Parked: a call may bring it forward, and never past the back-off.
    assert!(gaps[4..].iter().all(|gap| *gap >= 1960.0), "{gaps:?}");
    let doubled = gaps.iter().zip([200.0, 400.0, 800.0, 1600.0]);
    let random: Vec<f64> = doubled.map(|(gap, least)| gap / least).collect();
    assert!(random.iter().any(|part| (part - random[0]).abs() > 0.02), "no jitter: {gaps:?}");

    let status = case.status();
    assert_eq!(status.state, State::Parked);
    assert!(status.next_attempt.is_some());
    assert_eq!(status.generation, starts.len() as u64);
    let reason = status.reason.expect("a reason");
    for part in ["(open)", "exit code 3", "cfg missing"] {
        assert!(reason.text.contains(part), "no `{part}` in {reason:?}");
    }
    let mut told = 0;
    while let Ok(event) = events.try_recv() {
        told += usize::from(matches!(event, Event::State { server, .. } if server == case.name));
    }
    assert!(told <= 3 * starts.len(), "{told} words about {} starts", starts.len());
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_that_is_not_there_parks_at_once() {
    let sandbox = Sandbox::new();
    let mut missing = stdio("missing", &["herm-no-such-program"]);
    scaled(&mut missing);
    let log = sandbox.root().join("log");
    let good = child("good", &fake("good", &log));
    // First and last in the file.
    for servers in [vec![missing.clone(), good.clone()], vec![good.clone(), missing.clone()]] {
        let host = Host::new(Setup::new(servers));
        let ready = host.connect(&[]).await;
        for (name, ready) in ready {
            assert_eq!(ready.is_ok(), name == good.name, "{name}: {ready:?}");
        }
        for _ in 0..20 {
            drop(host.connect(std::slice::from_ref(&missing.name)).await);
            host.call(call(&good.name, "echo", "{}")).await.unwrap();
        }
        let status = host.status();
        let status = status.iter().find(|status| status.name == missing.name).unwrap();
        assert_eq!(status.state, State::Parked);
        // The first, and one that a call brought forward.
        assert!(status.counters.starts <= 2, "{status:?}");
        assert!(status.next_attempt.is_some());
        let reason = status.reason.as_ref().unwrap();
        assert!(reason.text.contains("`herm-no-such-program` was not found"), "{reason:?}");
        host.stop().await;
    }
    assert_eq!(fake_log::spawns(&log), 2, "once in each host");
}

/// Starts of a dying server that so many hosts on one state folder want all the time.
async fn starts_of(hosts: usize, script: &str, time: Duration) -> usize {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let mut server: Server = child("case", &fake(script, &log));
    scaled(&mut server);
    server.supervision.allowance = 4;
    let host = || {
        let mut setup = Setup::new(vec![server.clone()]);
        setup.state = Some(sandbox.home());
        Host::new(setup)
    };
    let hosts: Vec<Host> = (0..hosts).map(|_| host()).collect();
    let wants = async |host: &Host| loop {
        drop(host.call(call(&server.name, "echo", "{}")).await);
        sleep(PASS).await;
    };
    let others = async {
        // They come later, when it is known what they have to do with.
        while !sandbox.home().join("supervision.json").exists() {
            sleep(PASS).await;
        }
        join_all(hosts[1..].iter().map(wants)).await
    };
    let _over = timeout(time, async { tokio::join!(wants(&hosts[0]), others) }).await;
    join_all(hosts.iter().map(Host::stop)).await;
    fake_log::spawns(&log)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hosts_start_a_dying_server_no_oftener_than_one() {
    let time = Duration::from_secs(10);
    for script in ["b02", "b02-opened"] {
        let (one, five) = tokio::join!(starts_of(1, script, time), starts_of(5, script, time));
        // Jitter makes one more, or one less.
        assert!((4..=10).contains(&one), "{script}: {one} starts by one host");
        assert!(five <= one + 2, "{script}: {five} starts by five hosts, {one} by one");
    }
}
