//! What the host costs: a whole `Host` in front of `herm-echo`, every step of the walk included.
//!
//! `bench/run` runs it as it should be run: release, on one CPU, right after the floor
//! (`herm-floor`) of the same figure.

mod options;

use std::error::Error;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use herm_core::config::{Http, HttpKind, Server, Stdio as StdioEntry, Template, Transport, Verify};
use herm_core::name::ServerName;
use herm_host::{Host, Phase, Request, Setup, Target};
use herm_testkit::measure::{self, Run, memory};
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::Instant;

use options::{Options, USAGE};

type Fallible<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("herm-bench: {error}"), true);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "its figures are for a person")]
fn say(text: &str, wrong: bool) {
    if wrong { eprintln!("{text}") } else { println!("{text}") }
}

fn line(what: &str, figures: &impl std::fmt::Display) {
    say(&format!("herm   {what:<42} {figures}"), false);
}

fn run(options: Options) -> Fallible {
    if options.case == "start" {
        return start(&options);
    }
    let mut runtime = if options.threads {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = runtime.enable_all().build()?;
    // A task of the runtime, as calls of a real front end are.
    runtime.block_on(async {
        let mut task = JoinSet::new();
        task.spawn(case(options));
        task.join_next().await.ok_or("no task")??
    })
}

async fn case(options: Options) -> Fallible {
    match options.case.as_str() {
        "calls" => calls(&options).await,
        "flight" => flight(&options).await,
        "list" => list(&options).await,
        "memory" => rest(&options).await,
        _ => Err(USAGE.into()),
    }
}

/// One call after the other.
async fn calls(options: &Options) -> Fallible {
    let (host, target) = ready(options).await?;
    for _ in 0..options.n / 10 {
        call(&host, &target).await?;
    }
    let mut run = Run::new(options.n);
    for _ in 0..options.n {
        let since = Instant::now();
        call(&host, &target).await?;
        run.took(since);
    }
    let wire = if options.url.is_some() { "Streamable HTTP on loopback" } else { "stdio" };
    line(&format!("one call over {wire}"), &run.end());
    host.stop().await;
    Ok(())
}

/// Many callers, each with one call after the other.
async fn flight(options: &Options) -> Fallible {
    let (host, target) = ready(options).await?;
    let host = Arc::new(host);
    let each = options.n / options.in_flight;
    call(&host, &target).await?;
    let server = host.status().first().and_then(|status| status.pid);
    let before = measure::cpu_of(server) + measure::cpu();
    let mut run = Run::new(options.n);
    let mut callers = JoinSet::new();
    for _ in 0..options.in_flight {
        let (host, target) = (Arc::clone(&host), target.clone());
        callers.spawn(async move {
            let mut times = Vec::with_capacity(each);
            for _ in 0..each {
                let since = Instant::now();
                call(&host, &target).await?;
                times.push(since.elapsed());
            }
            Fallible::Ok(times)
        });
    }
    while let Some(times) = callers.join_next().await {
        run.add(times??);
    }
    let both = measure::cpu_of(server) + measure::cpu() - before;
    let figures = run.end();
    line(&format!("one call of {} in flight", options.in_flight), &figures);
    // What other programs took of the CPU is not in this one.
    let (us, n) = (both.as_secs_f64() * 1e6, f64::from(figures.n));
    let text = format!("{:.2} us each: {:.0}/s on a CPU of their own", us / n, n / us * 1e6);
    line("host and server together, CPU", &text);
    Arc::into_inner(host).ok_or("a caller is left")?.stop().await;
    Ok(())
}

/// From asking for the list to having it published: asked, read, parsed, judged, named, offered.
async fn list(options: &Options) -> Fallible {
    let (mut times, mut tools) = (Vec::new(), 0);
    for round in 0..options.n + options.n / 10 {
        let server = server("echo", options)?;
        let name = server.name.clone();
        let host = Host::new(Setup::new(vec![server]));
        let probe = host.probe(&name).await;
        if let Some((_, why)) = probe.failed {
            return Err(why.into());
        }
        let phase = probe.phases.into_iter().find(|(phase, _)| *phase == Phase::List);
        let (_, took) = phase.ok_or("no list")?;
        if round >= options.n / 10 {
            times.push(took);
        }
        tools = host.catalogue().tools().count();
        host.stop().await;
    }
    times.sort_unstable();
    let us = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    let text = format!("min {:>8.1}  p50 {:>8.1}  p99 {:>8.1} us", us(0), us(50), us(99));
    line(&format!("{tools} tools listed and published"), &text);
    Ok(())
}

/// Memory: without servers, and for each of many that are idle.
async fn rest(options: &Options) -> Fallible {
    let bare = Host::new(Setup::new(Vec::new()));
    let (resident, private) = memory();
    line("host at rest, no servers", &format!("RSS {resident} KiB, private {private} KiB"));
    bare.stop().await;
    let names = (0..options.servers).map(|i| format!("echo{i}"));
    let servers = names.map(|name| server(&name, options)).collect::<Fallible<_>>()?;
    let host = Host::new(Setup::new(servers));
    let before = memory();
    for (_, ready) in host.connect(&[]).await {
        ready?;
    }
    let after = memory();
    let each = |before: u64, after: u64| after.saturating_sub(before) / options.servers as u64;
    let (resident, private) = (each(before.0, after.0), each(before.1, after.1));
    let text = format!("RSS {resident} KiB, private {private} KiB each");
    line(&format!("each of {} idle servers with their tools", options.servers), &text);
    host.stop().await;
    Ok(())
}

/// A whole program, from its start to its end.
fn start(options: &Options) -> Fallible {
    let (program, arguments) = options.command.split_first().ok_or(USAGE)?;
    let mut run = Run::new(options.n);
    for _ in 0..options.n {
        #[expect(clippy::disallowed_methods, reason = "no server: the program that is timed")]
        let mut command = std::process::Command::new(program);
        let since = Instant::now();
        let output = command.args(arguments).stdin(Stdio::null()).output()?;
        run.took(since);
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
    }
    let what = program.rsplit('/').next().unwrap_or(program);
    line(&format!("{what} from start to exit"), &run.end());
    Ok(())
}

async fn ready(options: &Options) -> Fallible<(Host, Target)> {
    let server = server("echo", options)?;
    let target = Target::Tool(server.name.clone(), "echo_0".to_owned());
    let host = Host::new(Setup::new(vec![server]));
    for (_, ready) in host.connect(&[]).await {
        ready?;
    }
    // By its exposed name, as a model calls it.
    let exposed = host.catalogue().tools().next().map(|tool| tool.name.clone());
    Ok((host, exposed.map_or(target, Target::Exposed)))
}

async fn call(host: &Host, target: &Target) -> Fallible {
    let mut request = Request::new(target.clone());
    request.arguments = Some(RawValue::from_string(r#"{"message":"hello"}"#.to_owned())?);
    host.call(request).await?;
    Ok(())
}

fn server(name: &str, options: &Options) -> Fallible<Server> {
    let name: ServerName = name.parse()?;
    let transport = match (&options.url, options.command.split_first()) {
        (Some(url), _) => Transport::Http(Http {
            url: Template(url.clone()),
            headers: Vec::new(),
            kind: HttpKind::Streamable,
            verify: Verify::Platform,
            identity: None,
            proxy: None,
        }),
        (None, Some((program, arguments))) => Transport::Stdio(StdioEntry {
            command: Template(program.clone()),
            args: arguments.iter().cloned().map(Template).collect(),
            env: Vec::new(),
            cwd: None,
            pass_env: Vec::new(),
        }),
        (None, None) => return Err(USAGE.into()),
    };
    let mut server = Server::new(name, transport);
    server.limits.concurrent_calls = server.limits.concurrent_calls.max(options.in_flight);
    Ok(server)
}
