//! A scripted MCP server that does on demand what real ones do now and then.
//!
//! `herm-fake SCRIPT [--log FILE] [--marker WORD] [--http PORT] [--set NAME=VALUE]...`
//!
//! A script is a small function in a file of its own. It speaks stdio, or with `--http` plain HTTP
//! on a loopback port (0 = a free one), and then prints `listening on URL`. Everything seen and done
//! goes to the log (`HERM_FAKE_LOG` when `--log` is not given), see `herm_testkit::fake_log`. The
//! marker is ignored: it is there to be found in the process table. `--list` prints the scripts.

mod ask;
mod b01;
mod b02;
mod b03;
mod b05;
mod b06;
mod b08;
mod b09;
mod b11;
mod b14;
mod b16;
mod b17;
mod calls;
mod chaos;
mod http;
mod legacy;
mod library;
mod listen;
mod message;
mod modern;
mod names;
mod options;
mod peer;
mod signals;
mod standard;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use herm_testkit::fake_log::Writer;
use options::Options;
use peer::Peer;

/// A script over stdio; the exit code is what it returns.
type Script = fn(&mut Peer) -> u8;

const STDIO: &[(&str, Script)] = &[
    ("good", standard::run),
    ("legacy", legacy::run),
    ("legacy-exits", legacy::run_that_exits_on_the_probe),
    ("library", library::run),
    ("modern", modern::run),
    ("listen", listen::run),
    ("listen-refused", listen::refusing),
    ("ask", ask::run),
    ("calls", calls::run),
    ("names", names::run),
    ("names-shuffled", names::shuffled),
    ("b01", b01::run),
    ("b01-mute", b01::stay_mute),
    ("b02", b02::run),
    ("b02-opened", b02::opened),
    ("b03", b03::run),
    ("b05a", b05::ping_unanswered),
    ("b05b", b05::ping_unknown),
    ("b05c", b05::ping_refused),
    ("b05d", b05::ping_null),
    ("b05e", b05::silent_from_the_first_call),
    ("b06", b06::run),
    ("b08", b08::run),
    ("b09", b09::run),
    ("b11", b11::run),
    ("b14a", b14::three_pages),
    ("b14b", b14::same_cursor),
    ("b14c", b14::cursors_in_a_circle),
    ("b14d", b14::new_cursor_for_ever),
    ("b14e", b14::second_page_fails),
    ("b14f", b14::slow_pages),
    ("b14g", b14::storm_of_notices),
    ("b14h", b14::early_notices),
    ("b14i", b14::refresh_during_a_call),
    ("b14j", b14::failing_refresh),
    ("b16", b16::run),
    ("b17", b17::run),
    ("chaos", chaos::run),
];

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => return refuse(&message),
    };
    if options.script == "--list" {
        let stdio = STDIO.iter().map(|(name, _)| *name);
        let names: Vec<&str> = stdio.chain(http::SCRIPTS.iter().copied()).collect();
        return say(&names.join("\n"));
    }
    let log = match Writer::open(options.log.as_deref()) {
        Ok(log) => Arc::new(log),
        Err(error) => return refuse(&format!("cannot open the log: {error}")),
    };
    log.add("spawn", options::birth());
    signals::watch(&log, options.script.starts_with("b01"));
    b01::grow(&options.script);
    if let Some(port) = options.http {
        return http::run(&options, port, &log);
    }
    let Some((_, script)) = STDIO.iter().find(|(name, _)| *name == options.script) else {
        return refuse(&format!("no stdio script `{}`; `--list` prints them", options.script));
    };
    let code = script(&mut Peer::start(Arc::clone(&log), options));
    log.add("exit", serde_json::json!({ "code": code }));
    ExitCode::from(code)
}

fn say(text: &str) -> ExitCode {
    let written = writeln!(std::io::stdout().lock(), "{text}");
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn refuse(message: &str) -> ExitCode {
    drop(writeln!(std::io::stderr().lock(), "herm-fake: {message}"));
    ExitCode::from(2)
}

/// Part of what the scripts do is to be slow.
#[expect(clippy::disallowed_methods, reason = "threads that are meant to block")]
fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}
