//! Five healthy servers under load beside twenty of bad character, which die, hang, flood, cut
//! streams, answer late and lie about their lists at random.
//!
//! A target of its own, so that its process holds nothing but this run and its memory can be measured.
//! It lasts 20 s and begins with a random seed, which is printed when it fails.
//! `HERM_CHAOS_SECONDS=600 HERM_CHAOS_SEED=7 cargo test --test chaos` runs it for longer, or again.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends at what it did not expect")]
#![expect(clippy::print_stderr, reason = "the seed, and what the run came to")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herm_core::config::{Http, HttpKind, Server, Stdio, Template, Transport, Verify};
use herm_core::name::ServerName;
use herm_host::{Host, Outcome, Request, Setup, Target};
use herm_testkit::{Running, Sandbox, fake, fake_http, fake_log, measure, processes_with};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const HEALTHY: usize = 5;
const STDIO: usize = 14;
const HTTP: usize = 6;
const CALLERS: usize = 2;
const ROUNDS: u32 = 3;
/// Every call of a bad server has ended by then: its start, its turn, itself, and a second for the
/// machine.
const ENDED: Duration = Duration::from_secs(7);
/// No call of a healthy server takes longer.
const HEALTHY_LIMIT: Duration = Duration::from_secs(1);
const GROWTH_KIB: u64 = 4096;

struct Run {
    sandbox: Sandbox,
    host: Arc<Host>,
    sites: Vec<Running>,
    healthy: Vec<ServerName>,
    /// Each with its log.
    bad: Vec<(ServerName, PathBuf)>,
    rules: Server,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn healthy_servers_lose_nothing_beside_twenty_of_bad_character() {
    let seed = variable("HERM_CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let seconds = variable("HERM_CHAOS_SECONDS").unwrap_or(20);
    eprintln!("HERM_CHAOS_SEED={seed} HERM_CHAOS_SECONDS={seconds}");
    let run = Run::start(seed);
    let begin = Instant::now();
    let time = Duration::from_secs(seconds) / ROUNDS;
    let mut memory = Vec::new();
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let (good, bad) = run.round(time).await;
        answered += good;
        refused += bad;
        memory.push(measure::memory().1);
    }
    let lasted = begin.elapsed();
    eprintln!("{answered} calls answered, {refused} not; private memory in KiB: {memory:?}");
    assert!(refused >= 100 && answered >= 100, "{answered} answered, {refused} refused: no chaos");
    assert!(memory[2] <= memory[1] + GROWTH_KIB, "private memory grew: {memory:?} KiB");
    run.end(lasted).await;
}

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

impl Run {
    fn start(seed: u64) -> Self {
        let sandbox = Sandbox::new();
        let mut servers = Vec::new();
        for number in 0..HEALTHY {
            // Unlogged: it would be most of the run's work.
            let mut command = fake("good", &sandbox.root().join(format!("healthy{number}")));
            command
                .iter_mut()
                .filter(|word| *word == "--log")
                .for_each(|word| "--marker".clone_into(word));
            servers.push(child(&format!("healthy{number}"), &command));
        }
        let healthy = servers.iter().map(|server| server.name.clone()).collect();
        let mut bad = Vec::new();
        let mut sites = Vec::new();
        for number in 0..STDIO + HTTP {
            let name = format!("bad{number}");
            let log = sandbox.root().join(&name);
            let seed = format!("seed={}", seed + number as u64);
            let mut server = if number < STDIO {
                let mut command = fake("chaos", &log);
                command.extend(["--set".to_owned(), seed]);
                child(&name, &command)
            } else {
                let site = fake_http(&sandbox, "chaos", &[&seed], &log);
                let server = remote(&name, site.url());
                sites.push(site);
                server
            };
            hasten(&mut server);
            bad.push((server.name.clone(), log));
            servers.push(server);
        }
        let rules = servers[servers.len() - 1].clone();
        let host = Arc::new(Host::new(Setup::new(servers)));
        Self { sandbox, host, sites, healthy, bad, rules }
    }

    /// Everybody calls for a while. Gives how many calls of bad servers were answered, and how many
    /// were not.
    async fn round(&self, time: Duration) -> (usize, usize) {
        let until = Instant::now() + time;
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            for name in &self.healthy {
                callers.spawn(healthy_calls(Arc::clone(&self.host), name.clone(), until));
            }
            for (name, _) in &self.bad {
                callers.spawn(bad_calls(Arc::clone(&self.host), name.clone(), until));
            }
        }
        callers.spawn(looks(Arc::clone(&self.host), until));
        let ended = callers.join_all().await;
        ended.into_iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    async fn end(self, lasted: Duration) {
        for status in self.host.status() {
            let healthy = self.healthy.contains(&status.name);
            assert!(!healthy || status.counters.starts == 1, "{status:?}");
        }
        self.host.stop().await;
        drop(self.sites);
        for (name, log) in self.bad.iter().take(STDIO) {
            starts_are_within_bounds(name, log, &self.rules, lasted);
        }
        let left = processes_with(&self.sandbox.root().to_string_lossy());
        assert!(left.is_empty(), "left running: {left:?}");
    }
}

async fn healthy_calls(host: Arc<Host>, name: ServerName, until: Instant) -> (usize, usize) {
    for number in 0.. {
        if Instant::now() >= until {
            break;
        }
        let said = format!("{name} {number}");
        let started = Instant::now();
        let answer = echo(&host, &name, &said).await;
        let took = started.elapsed();
        assert_eq!(answer.as_deref(), Ok(said.as_str()), "after {took:?}");
        assert!(took < HEALTHY_LIMIT, "{name}: {took:?}");
        sleep(Duration::from_millis(5)).await;
    }
    (0, 0)
}

async fn bad_calls(host: Arc<Host>, name: ServerName, until: Instant) -> (usize, usize) {
    let (mut answered, mut refused) = (0, 0);
    for number in 0.. {
        if Instant::now() >= until {
            break;
        }
        let said = format!("{name} {number}");
        let Ok(answer) = timeout(ENDED, echo(&host, &name, &said)).await else {
            panic!("{name}: a call has not ended in {ENDED:?}: {:?}", host.status());
        };
        match answer {
            // What it says may be no answer of a tool; what is one, is the one to this call.
            Ok(text) if text.is_empty() => answered += 1,
            Ok(text) => {
                assert_eq!(text, said, "the answer to another call");
                answered += 1;
            }
            Err(why) => {
                assert!(why.contains(name.as_str()), "nobody is named: {why}");
                refused += 1;
                sleep(Duration::from_millis(80)).await;
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
    (answered, refused)
}

/// Somebody who looks at everything all the time. Whoever is not well has a reason, and whoever waits
/// a time.
async fn looks(host: Arc<Host>, until: Instant) -> (usize, usize) {
    use herm_host::State::{Backoff, Parked};
    while Instant::now() < until {
        let started = Instant::now();
        for status in host.status() {
            if matches!(status.state, Backoff | Parked) {
                let reason = status.reason.as_ref();
                assert!(reason.is_some_and(|reason| !reason.text.is_empty()), "{status:?}");
                assert!(status.next_attempt.is_some(), "{status:?}");
            }
        }
        let tools = host.catalogue().tools().count();
        assert!(tools <= HEALTHY + STDIO + HTTP, "{tools} tools");
        assert!(started.elapsed() < HEALTHY_LIMIT, "a look took {:?}", started.elapsed());
        sleep(Duration::from_millis(50)).await;
    }
    (0, 0)
}

/// The text that comes back, or why none does.
async fn echo(host: &Host, name: &ServerName, said: &str) -> Result<String, String> {
    let mut request = Request::new(Target::Tool(name.clone(), "echo".to_owned()));
    let arguments = serde_json::json!({ "s": said }).to_string();
    request.arguments = Some(RawValue::from_string(arguments).unwrap());
    match host.call(request).await {
        Ok(Outcome::Done(done)) => {
            let value: Value = serde_json::from_str(done.result.get()).unwrap();
            Ok(value["content"][0]["text"].as_str().unwrap_or_default().to_owned())
        }
        Ok(other) => panic!("{other:?}"),
        Err(why) => Err(format!("{why}; server: {name}")),
    }
}

/// Back-off before each start, and the allowance for those that follow an opened session.
fn starts_are_within_bounds(name: &ServerName, log: &Path, rules: &Server, lasted: Duration) {
    let rules = &rules.supervision;
    let entries = fake_log::read(log);
    let starts: Vec<(f64, u32)> =
        entries.iter().filter(|e| e.event == "spawn").map(|e| (e.ms, e.pid)).collect();
    let opened = |pid: u32| {
        entries.iter().any(|entry| {
            let text = entry.data["text"].as_str().unwrap_or_default();
            entry.pid == pid && entry.event == "out" && text.contains("serverInfo")
        })
    };
    let mut losses = 0;
    for pair in starts.windows(2) {
        let gap = pair[1].0 - pair[0].0;
        let least = rules.backoff_initial.as_secs_f64() * 1000.0;
        assert!(gap >= least * 0.98, "{name} was started {gap} ms after a start");
        losses += u32::from(opened(pair[0].1));
    }
    let refilled = lasted.as_secs_f64() / rules.allowance_refill.as_secs_f64();
    let allowed = f64::from(rules.allowance) + refilled + 2.0;
    assert!(
        f64::from(losses) <= allowed,
        "{name}: {losses} starts after losses, {allowed} allowed"
    );
    let parked = lasted.as_secs_f64() / (rules.park_interval.as_secs_f64() * 0.9);
    let most = allowed + f64::from(rules.park_after) + 2.0 * parked;
    assert!((starts.len() as f64) <= most, "{name}: {} starts, at most {most}", starts.len());
}

/// Limits at which a lot happens in 20 s.
fn hasten(server: &mut Server) {
    let ms = Duration::from_millis;
    let limits = &mut server.limits;
    limits.connect = ms(1000);
    limits.list = ms(1000);
    limits.start = ms(2000);
    limits.call_idle = ms(1000);
    limits.call_absolute = ms(2000);
    limits.queue = ms(1000);
    server.upkeep.keepalive = ms(500);
    server.breaker.cooldown = ms(500);
    let rules = &mut server.supervision;
    rules.backoff_initial = ms(100);
    rules.backoff_max = ms(500);
    rules.park_interval = ms(1000);
    rules.park_max = ms(2000);
    rules.proof = ms(3000);
    rules.allowance = 6;
    rules.allowance_refill = ms(2000);
    rules.probe_timeout = ms(500);
    rules.stop_grace = ms(200);
    rules.term_grace = ms(200);
}

fn child(name: &str, command: &[String]) -> Server {
    let template = |text: &String| Template(text.clone());
    let stdio = Stdio {
        command: template(&command[0]),
        args: command[1..].iter().map(template).collect(),
        ..Stdio::default()
    };
    Server::new(name.parse().unwrap(), Transport::Stdio(stdio))
}

fn remote(name: &str, url: &str) -> Server {
    let http = Http {
        url: Template(url.to_owned()),
        headers: Vec::new(),
        kind: HttpKind::Auto,
        verify: Verify::default(),
        identity: None,
        proxy: None,
    };
    Server::new(name.parse().unwrap(), Transport::Http(http))
}
