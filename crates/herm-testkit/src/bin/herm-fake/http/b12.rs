//! B12 Session gone. `--set case=a` to `j`; the first `tools/call` is the trigger.
//!
//! a: the session is forgotten, 404. b: every session is refused with 404 from then on. c: 404
//! although no session was ever issued. d: as a, but 400 `unknown session`. e: 401 without a content
//! type. f: `initialize` is refused with two older versions in the error's data. g: calls take 2 s, and
//! the session is gone for notifications of a cancel only. h: as a, but calls take 1.5 s, the refused
//! one too. i: as a, but calls on the lost session are refused after 0.3 s, the first at once. j: nothing
//! goes wrong.
//!
//! Checks in the log: `version-header` for each request after `initialize`, and
//! `initialize-without-session`. Each executed call is logged as a check `executed`.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use herm_testkit::fake_log::Writer;
use serde_json::json;

use super::Site;
use super::request::Request;
use super::response::Reply;
use crate::message::{Message, error};
use crate::options::Options;
use crate::pause;
use crate::standard;

const OLDER: [&str; 2] = ["2025-03-26", "2025-06-18"];

pub(crate) struct B12 {
    case: char,
    log: Arc<Writer>,
    issued: AtomicUsize,
    /// The session that is known now, and whether the trigger has come.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: String,
    triggered: bool,
}

impl B12 {
    pub(crate) fn new(options: &Options, log: Arc<Writer>) -> Self {
        let case = options.get("case", "a").chars().next().unwrap_or('a');
        Self { case, log, issued: AtomicUsize::new(0), state: Mutex::default() }
    }

    fn check(&self, name: &str, ok: bool, detail: &str) {
        self.log.add("check", json!({"name": name, "ok": ok, "detail": detail}));
    }

    fn initialize(&self, request: &Request, message: &Message, reply: &mut Reply<'_>) {
        let session = request.header("mcp-session-id");
        self.check("initialize-without-session", session.is_none(), &format!("{session:?}"));
        let id = message.id.as_deref().unwrap_or("null");
        let asked = message.params["protocolVersion"].as_str().unwrap_or_default();
        if self.case == 'f' && !OLDER.contains(&asked) {
            let data = json!({"supported": OLDER, "requested": asked});
            let error =
                json!({"code": -32602, "message": "Unsupported protocol version", "data": data});
            return reply.json(400, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
        }
        let body = standard::initialize(id, message);
        if self.case == 'c' {
            return reply.json(200, &body);
        }
        let session = format!("s{}", self.issued.fetch_add(1, SeqCst) + 1);
        let header = format!("Mcp-Session-Id: {session}");
        self.state.lock().unwrap_or_else(PoisonError::into_inner).session = session;
        reply.whole(200, &["Content-Type: application/json", &header], &body);
    }

    /// Answers for the session if it is gone; true when it has.
    fn refuses(&self, request: &Request, message: &Message, reply: &mut Reply<'_>) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let call = message.method == "tools/call";
        let first = call && !state.triggered;
        state.triggered |= call;
        let known = request.header("mcp-session-id").unwrap_or_default() == state.session;
        match self.case {
            'a' | 'd' | 'h' | 'i' => {
                if first {
                    state.session = "none".to_owned();
                } else if known {
                    return false;
                }
            }
            'b' if state.triggered => {}
            'c' | 'e' if call => {}
            'g' if message.method == "notifications/cancelled" => {}
            _ if known => return false,
            _ => {}
        }
        drop(state);
        if self.case == 'i' && !first {
            pause(300);
        }
        match self.case {
            'd' => reply.json(400, &error("null", -32000, "unknown session")),
            'e' if call => reply.whole(401, &[], "token expired for this test"),
            _ => reply.json(404, &error("null", -32001, "Session not found")),
        }
        true
    }
}

impl Site for B12 {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        if request.method == "GET" {
            return reply.empty(405);
        }
        if request.method == "DELETE" {
            let session = request.header("mcp-session-id");
            self.check("deleted", session.is_some(), session.unwrap_or_default());
            return reply.empty(200);
        }
        let Some(message) = request.message() else { return reply.empty(400) };
        if message.method == "initialize" {
            return self.initialize(request, &message, reply);
        }
        if message.method == "server/discover" {
            let id = message.id.as_deref().unwrap_or("null");
            return reply.json(200, &error(id, -32601, "Method not found"));
        }
        let version = request.header("mcp-protocol-version");
        self.check("version-header", version.is_some(), &message.method);
        let call = message.method == "tools/call";
        if call && self.case == 'h' {
            pause(1500);
        }
        if self.refuses(request, &message, reply) {
            return;
        }
        if call {
            self.check("executed", true, request.header("mcp-session-id").unwrap_or_default());
        }
        if call && self.case == 'g' {
            pause(2000);
        }
        match standard::reply(&message) {
            Some(body) => reply.json(200, &body),
            None => reply.empty(202),
        }
    }
}
