//! A site of bad character: streams that are cut, sessions that are forgotten, errors and silence, at
//! random from `--set seed=N`.

use std::sync::{Mutex, PoisonError};

use fastrand::Rng;

use super::Site;
use super::request::Request;
use super::response::Reply;
use crate::message::error;
use crate::options::Options;
use crate::{pause, standard};

pub(crate) struct Chaos {
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    sessions: u64,
    forgotten: bool,
}

impl Chaos {
    pub(crate) fn new(options: &Options) -> Self {
        let seed = options.get("seed", "1").parse().unwrap_or(1);
        let rng = Rng::with_seed(seed);
        Self { state: Mutex::new(State { rng, sessions: 0, forgotten: true }) }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn throw(&self, below: u8) -> u8 {
        self.with(|state| state.rng.u8(..below))
    }

    fn call(&self, id: &str, body: &str, reply: &mut Reply<'_>) {
        match self.throw(40) {
            0 => reply.json(500, &error(id, -32603, "")),
            1 => reply.empty(503),
            2 => reply.hang_up(),
            3 => {
                // Cut in the middle of the answer.
                reply.stream(&[]);
                reply.raw(format!("data: {}", &body[..body.len() / 2]).as_bytes());
            }
            4 => {
                // Bytes, but no answer.
                reply.stream(&[]);
                while reply.raw(b": hb\n\n") {
                    pause(100);
                }
            }
            5 => {
                self.with(|state| state.forgotten = true);
                reply.json(404, &error("null", -32001, "Session not found"));
            }
            6 => {
                pause(2500);
                reply.json(200, body);
            }
            7 => reply.whole(200, &["Content-Type: text/html"], "<h1>Gateway</h1>"),
            8..20 => {
                reply.stream(&[]);
                reply.raw(format!("data: {body}\n\n").as_bytes());
            }
            _ => reply.json(200, body),
        }
    }
}

impl Site for Chaos {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        if request.method == "GET" {
            reply.stream(&[]);
            return pause(300); // and cut
        }
        let Some(message) = request.message() else { return reply.empty(200) };
        let id = message.id.as_deref().unwrap_or("null");
        match message.method.as_str() {
            "server/discover" => return reply.json(200, &error(id, -32601, "Method not found")),
            "initialize" if self.throw(10) == 0 => return reply.empty(502),
            "initialize" => {
                let session = self.with(|state| {
                    state.forgotten = false;
                    state.sessions += 1;
                    state.sessions
                });
                let session = format!("Mcp-Session-Id: s{session}");
                let headers = ["Content-Type: application/json", &session];
                return reply.whole(200, &headers, &standard::initialize(id, &message));
            }
            _ => {}
        }
        let session = request.header("mcp-session-id").unwrap_or_default().to_owned();
        let known =
            self.with(|state| !state.forgotten && session == format!("s{}", state.sessions));
        if !known {
            return reply.json(404, &error("null", -32001, "Session not found"));
        }
        match standard::reply(&message) {
            None => reply.empty(202),
            Some(body) if message.method == "tools/call" => self.call(id, &body, reply),
            Some(body) => reply.json(200, &body),
        }
    }
}
