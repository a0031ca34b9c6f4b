//! B06 over HTTP: the first session is forgotten after its first call; `tools/list` of the second is
//! answered by an event stream that says nothing, each second, for ever; the third is ordinary.

use std::sync::Mutex;
use std::sync::PoisonError;

use super::Site;
use super::request::Request;
use super::response::Reply;
use crate::message::error;
use crate::{pause, standard};

#[derive(Default)]
pub(crate) struct B06 {
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    sessions: usize,
    forgotten: bool,
}

impl B06 {
    fn change(&self, change: impl FnOnce(&mut State)) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        *state
    }
}

impl Site for B06 {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        if request.method != "POST" {
            return reply.empty(if request.method == "GET" { 405 } else { 200 });
        }
        let Some(message) = request.message() else { return reply.empty(400) };
        let id = message.id.as_deref().unwrap_or("null");
        if message.method == "initialize" {
            let state = self.change(|state| {
                state.sessions += 1;
                state.forgotten = false;
            });
            let session = format!("Mcp-Session-Id: s{}", state.sessions);
            let headers = ["Content-Type: application/json", &session];
            return reply.whole(200, &headers, &standard::initialize(id, &message));
        }
        if message.method == "server/discover" {
            return reply.json(200, &error(id, -32601, "Method not found"));
        }
        let state = self.change(|_| {});
        if state.forgotten {
            return reply.json(404, &error("null", -32001, "Session not found"));
        }
        if state.sessions == 2 && message.method == "tools/list" {
            reply.stream(&[]);
            while reply.raw(b": hb\n\n") {
                pause(1000);
            }
            return;
        }
        if state.sessions == 1 && message.method == "tools/call" {
            self.change(|state| state.forgotten = true);
        }
        match standard::reply(&message) {
            Some(body) => reply.json(200, &body),
            None => reply.empty(202),
        }
    }
}
