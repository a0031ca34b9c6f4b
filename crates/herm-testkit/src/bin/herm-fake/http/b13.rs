//! B13 HTTP and SSE zoo: one cell of the matrix for each process, chosen with `--set`.
//!
//! - `notify` (reply to a notification): `202`, `200-empty`, `204`, `200-object`, `200-null-error`
//! - `get`: `405`, `404`, `406`, `501`, `html`, `closed`, `silent`
//! - `reply` (to a request): `json`, `json-charset`, or a spelling of `sse`; the negative one,
//!   `sse-unfinished`, is for calls only, so that the connection opens
//! - `cut`: the first stream of 2024-11-05 ends after so many milliseconds; 0 is never
//! - `post`: `ok`; `sse-only` (405, and GET offers the endpoint of 2024-11-05); a refusal `401`,
//!   `403`, `500` (GET would offer an endpoint, and must not be asked); a redirect `307`, `301`,
//!   `302`, `303` to `/mcp/`; `308-foreign` to another origin, whose requests are logged as checks
//!   `foreign-request`, which fail
//!
//! Without choices every reply is the plainest: 202, 405, JSON.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use herm_testkit::fake_log::Writer;
use serde_json::json;

use super::request::Request;
use super::response::Reply;
use super::{Site, serve, sse, url};
use crate::message::{Message, error};
use crate::options::Options;
use crate::standard;

const SILENT: Duration = Duration::from_secs(120);
const HEARTBEAT: Duration = Duration::from_secs(1);

pub(crate) struct B13 {
    notify: String,
    get: String,
    reply: String,
    post: String,
    cut: u64,
    /// Where `308-foreign` points.
    foreign: String,
    /// The open streams of 2024-11-05, by the number in their endpoint.
    streams: Mutex<HashMap<usize, SyncSender<String>>>,
}

impl B13 {
    pub(crate) fn new(options: &Options, log: Arc<Writer>) -> Result<Self, String> {
        let reply = options.get("reply", "json").to_owned();
        if !reply.starts_with("json") && !sse::SPELLINGS.contains(&reply.as_str()) {
            return Err(format!("no spelling `{reply}`; there are {:?}", sse::SPELLINGS));
        }
        let post = options.get("post", "ok").to_owned();
        let foreign = if post == "308-foreign" { foreign_origin(log)? } else { String::new() };
        Ok(Self {
            notify: options.get("notify", "202").to_owned(),
            get: options.get("get", "405").to_owned(),
            reply,
            post,
            cut: options.get("cut", "0").parse().unwrap_or_default(),
            foreign,
            streams: Mutex::default(),
        })
    }

    fn post(&self, request: &Request, reply: &mut Reply<'_>) {
        let Some(message) = request.message() else { return reply.empty(400) };
        if message.id.is_none() || message.is_response() {
            return self.notified(reply);
        }
        let body = standard::reply(&message).unwrap_or_default();
        let unfinished = self.reply == "sse-unfinished" && message.method != "tools/call";
        match self.reply.as_str() {
            "json" => reply.json(200, &body),
            "json-charset" => {
                reply.whole(200, &["Content-Type: application/json; charset=utf-8"], &body);
            }
            _ if unfinished => sse::write(reply, "sse-lf", &body),
            spelling => sse::write(reply, spelling, &body),
        }
    }

    fn notified(&self, reply: &mut Reply<'_>) {
        match self.notify.as_str() {
            "200-empty" => reply.json(200, ""),
            "204" => reply.empty(204),
            "200-object" => reply.json(200, "{}"),
            "200-null-error" => reply.json(200, &error("null", -32000, "no such session")),
            _ => reply.empty(202),
        }
    }

    fn get(&self, reply: &mut Reply<'_>) {
        match self.get.as_str() {
            "html" => reply.whole(200, &["Content-Type: text/html"], "<h1>It works</h1>"),
            "closed" => reply.stream(&[]),
            "silent" => {
                reply.stream(&[]);
                silence(reply);
            }
            status => reply.empty(status.parse().unwrap_or(405)),
        }
    }

    /// The stream of 2024-11-05: its endpoint first, then the replies to what is posted there.
    #[expect(clippy::disallowed_methods, reason = "a server's own clock: there is no runtime here")]
    fn legacy_stream(&self, reply: &mut Reply<'_>) {
        let (to, messages) = sync_channel(64);
        let number = {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            let number = streams.len() + 1;
            streams.insert(number, to);
            number
        };
        reply.stream(&[]);
        reply.raw(format!("event: endpoint\ndata: /messages?session={number}\n\n").as_bytes());
        let until =
            (self.cut > 0 && number == 1).then(|| Instant::now() + Duration::from_millis(self.cut));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            let text = match messages.recv_timeout(left.unwrap_or(HEARTBEAT).min(HEARTBEAT)) {
                Ok(body) => format!("event: message\ndata: {body}\n\n"),
                Err(RecvTimeoutError::Timeout) => ": hb\n\n".to_owned(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if !reply.raw(text.as_bytes()) {
                return;
            }
        }
    }

    fn legacy_post(&self, request: &Request, message: &Message, reply: &mut Reply<'_>) {
        let number = request.path.rsplit('=').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stream) = streams.get(&number) else { return reply.empty(404) };
        if let Some(body) = standard::reply(message) {
            drop(stream.try_send(body));
        }
        reply.empty(202);
    }
}

impl Site for B13 {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        let moved = request.path == "/mcp/";
        match (request.method.as_str(), self.post.as_str()) {
            ("POST", "sse-only") => match request.message() {
                Some(message) if request.path.starts_with("/messages") => {
                    self.legacy_post(request, &message, reply);
                }
                _ => reply.empty(405),
            },
            ("GET", "sse-only" | "401" | "403" | "500") => self.legacy_stream(reply),
            ("POST", "401" | "403" | "500") => {
                reply.whole(self.post.parse().unwrap_or(500), &[], "refused for this test");
            }
            ("POST", "301" | "302" | "303" | "307") if !moved => {
                reply.whole(self.post.parse().unwrap_or(307), &["Location: /mcp/"], "");
            }
            ("POST", "308-foreign") => {
                let location = format!("Location: {}", self.foreign);
                reply.whole(308, &[&location], "");
            }
            ("POST", _) => self.post(request, reply),
            ("GET", _) => self.get(reply),
            _ => reply.empty(405),
        }
    }
}

/// Holds a stream open until its reader goes.
fn silence(reply: &mut Reply<'_>) {
    let (_to, nothing) = sync_channel::<()>(1);
    let _ = nothing.recv_timeout(SILENT);
    reply.raw(b": end\n\n");
}

/// A second server that nothing should reach.
fn foreign_origin(log: Arc<Writer>) -> Result<String, String> {
    struct Foreign(Arc<Writer>);
    impl Site for Foreign {
        fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
            let detail = request.to_json();
            self.0.add("check", json!({"name": "foreign-request", "ok": false, "detail": detail}));
            reply.empty(200);
        }
    }
    let listener =
        TcpListener::bind(("127.0.0.1", 0)).map_err(|e| format!("no second port: {e}"))?;
    let location = url(&listener, "/mcp");
    drop(std::thread::spawn(move || {
        let site: Arc<dyn Site> = Arc::new(Foreign(Arc::clone(&log)));
        serve(&listener, &site, &log);
    }));
    Ok(location)
}
