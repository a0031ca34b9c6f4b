//! Streams that only beat or are cut, and servers that want to be left alone.
//!
//! - `beat=METHOD`: such a request is answered by a stream of comments that never ends
//! - `get=cut`: the GET stream is closed after 200 ms each time, with a place (`id`) and a delay
//!   (`retry: 300`) on the first one only
//! - `busy=METHOD`: the first such request is refused with `status` (503) and `Retry-After: after`
//!   (2) seconds
//! - `bad=status|headers|body`: calls are answered with HTTP that is none
//!
//! Otherwise the ordinary server, in a handshake era, without a session.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use super::Site;
use super::request::Request;
use super::response::Reply;
use crate::message::error;
use crate::options::Options;
use crate::{pause, standard};

pub(crate) struct Streams {
    beat: String,
    get: String,
    busy: String,
    status: u16,
    after: String,
    bad: String,
    refused: AtomicBool,
    gets: AtomicUsize,
}

impl Streams {
    pub(crate) fn new(options: &Options) -> Self {
        let get = |name, default| options.get(name, default).to_owned();
        Self {
            beat: get("beat", ""),
            get: get("get", ""),
            busy: get("busy", ""),
            status: options.get("status", "503").parse().unwrap_or(503),
            after: get("after", "2"),
            bad: get("bad", ""),
            refused: AtomicBool::new(false),
            gets: AtomicUsize::new(0),
        }
    }

    /// The GET stream, cut.
    fn cut(&self, reply: &mut Reply<'_>) {
        reply.stream(&[]);
        if self.gets.fetch_add(1, SeqCst) == 0 {
            reply.raw(b"retry: 300\nid: place\ndata:\n\n");
        }
        pause(200);
    }

    fn malformed(&self, reply: &mut Reply<'_>) {
        match self.bad.as_str() {
            "status" => drop(reply.raw(b"HTTP/9.9 what 200\r\n\r\n")),
            "headers" => {
                let flood: String = (0..5000).map(|n| format!("X-{n}: y\r\n")).collect();
                reply.raw(format!("HTTP/1.1 200 OK\r\n{flood}\r\n").as_bytes());
            }
            _ => {
                let head =
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
                reply.raw(format!("{head}Content-Length: 500\r\n\r\n{{\"jsonrpc\"").as_bytes());
            }
        }
        reply.ends();
    }
}

impl Site for Streams {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        match request.method.as_str() {
            "POST" => {}
            "GET" if self.get == "cut" => return self.cut(reply),
            _ => return reply.empty(405),
        }
        let Some(message) = request.message() else { return reply.empty(400) };
        let Some(id) = message.id.as_deref() else { return reply.empty(202) };
        if message.method == "server/discover" {
            return reply.json(200, &error(id, -32601, "Method not found"));
        }
        if message.method == self.busy && !self.refused.swap(true, SeqCst) {
            let after = format!("Retry-After: {}", self.after);
            let body = error(id, -32000, "too much for now");
            return reply.whole(self.status, &["Content-Type: application/json", &after], &body);
        }
        if message.method == self.beat {
            reply.stream(&[]);
            while reply.raw(b": hb\n\n") {
                pause(100);
            }
            return;
        }
        if message.method == "tools/call" && !self.bad.is_empty() {
            return self.malformed(reply);
        }
        match standard::reply(&message) {
            Some(body) => reply.json(200, &body),
            None => reply.empty(202),
        }
    }
}
