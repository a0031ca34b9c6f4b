//! B04 Six blips, then a long outage. No sessions. After each call that it answers it closes its
//! listener and all connections for `blip` ms (1000); after the seventh, for `outage` ms (8000); from
//! then on it is an ordinary server. Each change is a check `down` or `up` in the log.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use herm_testkit::fake_log::Writer;
use serde_json::json;

use super::request::Request;
use super::response::Reply;
use super::{Site, connection, url};
use crate::message::error;
use crate::options::Options;
use crate::{pause, refuse, standard};

const BLIPS: usize = 6;

#[derive(Default)]
struct B04 {
    calls: AtomicUsize,
    /// Set by a call, for the loop to close everything.
    falls: AtomicBool,
    /// Counts the falls that are over.
    fallen: AtomicUsize,
}

impl Site for B04 {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        if request.method != "POST" {
            return reply.empty(405);
        }
        let Some(message) = request.message() else { return reply.empty(400) };
        match standard::reply(&message) {
            Some(body) => reply.json(200, &body),
            None if message.id.is_some() => reply.json(200, &error("null", -32601, "no")),
            None => reply.empty(202),
        }
        if message.method == "tools/call" && self.calls.fetch_add(1, SeqCst) <= BLIPS {
            let fallen = self.fallen.load(SeqCst);
            self.falls.store(true, SeqCst);
            // Nothing more is read here: a quick client would have its next calls answered before the
            // fall.
            while self.fallen.load(SeqCst) == fallen {
                pause(1);
            }
            reply.hang_up();
        }
    }
}

pub(crate) fn run(options: &Options, listener: TcpListener, log: &Arc<Writer>) -> ExitCode {
    let number = |name: &str, default: &str| options.get(name, default).parse().unwrap_or(1000);
    let (blip, outage): (u64, u64) = (number("blip", "1000"), number("outage", "8000"));
    let Ok(address) = listener.local_addr() else { return refuse("no address") };
    drop(writeln!(std::io::stdout().lock(), "listening on {}", url(&listener, "/mcp")));
    let site = Arc::new(B04::default());
    let mut listener = Some(listener);
    for down in std::iter::repeat_n(blip, BLIPS).chain([outage, 0]) {
        let Some(up) = listener.take().or_else(|| listen(address)) else {
            return refuse("the port was taken");
        };
        log.add("check", json!({"name": "up", "ok": true, "detail": ""}));
        until_it_falls(&up, &site, log);
        drop(up);
        log.add("check", json!({"name": "down", "ok": true, "detail": down.to_string()}));
        pause(down);
    }
    ExitCode::SUCCESS
}

/// Somebody's connection may have the port for a moment.
fn listen(address: SocketAddr) -> Option<TcpListener> {
    for _ in 0..200 {
        if let Ok(listener) = TcpListener::bind(address) {
            return Some(listener);
        }
        pause(10);
    }
    None
}

/// Takes connections until a call makes the server fall, and resets them all.
fn until_it_falls(listener: &TcpListener, site: &Arc<B04>, log: &Arc<Writer>) {
    let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    drop(listener.set_nonblocking(true));
    while !site.falls.swap(false, SeqCst) {
        let Ok((stream, _)) = listener.accept() else {
            pause(2);
            continue;
        };
        drop(stream.set_nonblocking(false));
        if let Ok(copy) = stream.try_clone() {
            open.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        }
        let (site, log) = (Arc::clone(site), Arc::clone(log));
        drop(std::thread::spawn(move || connection(&stream, site.as_ref(), &log)));
    }
    for stream in open.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        drop(stream.shutdown(Shutdown::Both));
    }
    site.fallen.fetch_add(1, SeqCst);
}
