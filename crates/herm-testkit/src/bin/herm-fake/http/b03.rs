//! B03 over HTTP: `initialize` takes 2 s, and a second one is refused and voids the session.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use super::Site;
use super::request::Request;
use super::response::Reply;
use crate::message::error;
use crate::{pause, standard};

#[derive(Default)]
pub(crate) struct B03 {
    asked: AtomicUsize,
    void: AtomicBool,
}

impl Site for B03 {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        if request.method != "POST" {
            return reply.empty(if request.method == "GET" { 405 } else { 200 });
        }
        let Some(message) = request.message() else { return reply.empty(400) };
        let id = message.id.as_deref().unwrap_or("null");
        match message.method.as_str() {
            "initialize" => {
                if self.asked.fetch_add(1, SeqCst) > 0 {
                    self.void.store(true, SeqCst);
                    return reply.json(400, &error(id, -32600, "already initialized"));
                }
                pause(2000);
                let headers = ["Content-Type: application/json", "Mcp-Session-Id: s1"];
                reply.whole(200, &headers, &standard::initialize(id, &message));
            }
            "server/discover" => reply.json(200, &error(id, -32601, "Method not found")),
            _ if self.void.load(SeqCst) => {
                reply.json(404, &error("null", -32001, "Session not found"));
            }
            _ => match standard::reply(&message) {
                Some(body) => reply.json(200, &body),
                None => reply.empty(202),
            },
        }
    }
}
