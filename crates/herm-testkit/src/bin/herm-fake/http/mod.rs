//! The scripts that speak HTTP. One thread a connection; every byte that leaves is under the
//! script's control.

mod b03;
mod b04;
mod b06;
mod b12;
mod b13;
mod chaos;
mod listen;
mod modern;
mod request;
mod response;
mod sse;
mod streams;

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use herm_testkit::fake_log::Writer;
use serde_json::json;

use crate::options::Options;
use crate::refuse;
use request::Request;
use response::Reply;

pub(crate) const SCRIPTS: [&str; 10] = [
    "modern --http",
    "good --http",
    "listen --http",
    "streams --http",
    "b03 --http",
    "b04 --http",
    "b06 --http",
    "b12 --http",
    "b13 --http",
    "chaos --http",
];
const CONNECTIONS: usize = 128;

/// One scripted site: answers requests, of several connections at once.
pub(crate) trait Site: Send + Sync {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>);
}

/// Serves until killed.
pub(crate) fn run(options: &Options, port: u16, log: &Arc<Writer>) -> ExitCode {
    let listener = match TcpListener::bind(("127.0.0.1", port)) {
        Ok(listener) => listener,
        Err(error) => return refuse(&format!("cannot listen on port {port}: {error}")),
    };
    if options.script == "b04" {
        return b04::run(options, listener, log);
    }
    let site: Arc<dyn Site> = match options.script.as_str() {
        "b03" => Arc::new(b03::B03::default()),
        "b06" => Arc::new(b06::B06::default()),
        "chaos" => Arc::new(chaos::Chaos::new(options)),
        "modern" => Arc::new(modern::Modern),
        "listen" => Arc::new(listen::Listen::default()),
        "streams" => Arc::new(streams::Streams::new(options)),
        "b12" => Arc::new(b12::B12::new(options, Arc::clone(log))),
        // The good one is the matrix with every choice at its plainest.
        "good" | "b13" => match b13::B13::new(options, Arc::clone(log)) {
            Ok(site) => Arc::new(site),
            Err(message) => return refuse(&message),
        },
        other => return refuse(&format!("no HTTP script `{other}`; `--list` prints them")),
    };
    drop(writeln!(std::io::stdout().lock(), "listening on {}", url(&listener, "/mcp")));
    serve(&listener, &site, log);
    ExitCode::SUCCESS
}

fn url(listener: &TcpListener, path: &str) -> String {
    let port = listener.local_addr().map(|address| address.port()).unwrap_or_default();
    format!("http://127.0.0.1:{port}{path}")
}

/// Takes connections for ever. Above the bound they are closed at once.
fn serve(listener: &TcpListener, site: &Arc<dyn Site>, log: &Arc<Writer>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming().flatten() {
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (site, log, open) = (Arc::clone(site), Arc::clone(log), Arc::clone(&open));
        drop(std::thread::spawn(move || {
            connection(&stream, site.as_ref(), &log);
            open.fetch_sub(1, Ordering::Relaxed);
        }));
    }
}

/// Requests of one connection, until either side closes it.
fn connection(stream: &TcpStream, site: &dyn Site, log: &Writer) {
    log.add("connect", json!({"from": stream.peer_addr().map(|a| a.to_string()).ok()}));
    drop(stream.set_nodelay(true));
    let mut input = BufReader::new(stream);
    while let Some(request) = Request::read(&mut input) {
        log.add("request", request.to_json());
        let mut reply = Reply::new(stream, log);
        site.answer(&request, &mut reply);
        let asked = request.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close"));
        if asked || reply.closes() {
            return;
        }
    }
}
