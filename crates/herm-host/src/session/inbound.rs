//! What a server asks of us: answered at once, given to the caller's answerer, or refused.
//!
//! At most eight questions at once; over that they are refused. A reply that does not fit is
//! dropped and counted: the reader never waits for a queue that a server can fill.

use std::sync::Arc;

use herm_core::config::Revision;
use herm_core::name::ServerName;
use herm_core::wire::{self, Raw, codes};
use tokio::task::JoinSet;

use super::peer::PeerConfig;
use crate::answer::{Answerer, Ask, NoAnswer};
use crate::request::Caller;
use crate::transport::{Link, OutKind, Outgoing};

/// Questions of one server that may be open at once.
const AT_ONCE: usize = 8;

/// An answer to a question of the server's, ready to be sent.
#[derive(Debug)]
pub(crate) struct Answered {
    /// Our calls on whose behalf it may have been asked.
    pub(crate) calls: Vec<u64>,
    /// The reply.
    pub(crate) message: Outgoing,
}

/// A request of the server's.
#[derive(Debug)]
pub(crate) struct Question {
    /// Its id, token for token.
    pub(crate) id: Raw,
    /// Its method.
    pub(crate) method: String,
    /// Its params.
    pub(crate) params: Option<Raw>,
}

/// What became of a request of the server's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Taken {
    /// It has its reply.
    Replied,
    /// It is being asked, on behalf of one of these calls of ours.
    Asking(Vec<u64>),
    /// It was dropped at a bound, or is not permitted.
    Dropped,
}

/// The questions of one server.
#[derive(Debug)]
pub(crate) struct Inbound {
    server: ServerName,
    answerer: Answerer,
    modern: bool,
    open: JoinSet<Answered>,
}

impl Inbound {
    pub(crate) fn new(config: &PeerConfig) -> Self {
        Self {
            server: config.server.clone(),
            answerer: config.answerer.clone(),
            modern: false,
            open: JoinSet::new(),
        }
    }

    /// From now on this revision is spoken.
    pub(crate) fn opened(&mut self, revision: Revision) {
        self.modern = revision == Revision::V2026_07_28;
    }

    /// Takes a request of the server's.
    pub(crate) fn request(
        &mut self,
        question: Question,
        asked: Option<(Vec<u64>, Arc<Caller>)>,
        link: &mut Link,
    ) -> Taken {
        // S-4: a stateless server has no requests; it gets no answer.
        if self.modern {
            return Taken::Dropped;
        }
        let id = question.id.clone();
        let body = match question.method.as_str() {
            "ping" => wire::ok_reply(&id, "{}"),
            "sampling/createMessage" | "elicitation/create" | "roots/list" => {
                match self.ask(question, asked) {
                    Ok(calls) => return Taken::Asking(calls),
                    Err((code, why)) => wire::error_reply(&id, code, why),
                }
            }
            _ => wire::error_reply(&id, codes::METHOD_NOT_FOUND, "herm has no such method"),
        };
        if link.send(reply(body)).is_ok() { Taken::Replied } else { Taken::Dropped }
    }

    fn ask(
        &mut self,
        question: Question,
        asked: Option<(Vec<u64>, Arc<Caller>)>,
    ) -> Result<Vec<u64>, (i64, &'static str)> {
        let (calls, answerer) = match asked {
            Some((calls, caller)) if caller.answerer.answers() => (calls, caller.answerer.clone()),
            // The host answers for it; the call waits for that all the same.
            Some((calls, _)) => (calls, self.answerer.clone()),
            None => (Vec::new(), self.answerer.clone()),
        };
        if !answerer.answers() {
            return Err((codes::METHOD_NOT_FOUND, "that capability was not declared"));
        }
        if self.open.len() >= AT_ONCE {
            return Err((codes::INTERNAL_ERROR, "too many requests at once"));
        }
        let Question { id, method, params } = question;
        let ask = Ask { server: self.server.clone(), method, params, round: 0 };
        let asked_for = calls.clone();
        self.open.spawn(async move {
            let body = match answerer.answer(ask).await {
                Ok(result) => wire::ok_reply(&id, &result),
                Err(NoAnswer::Failed) => {
                    wire::error_reply(&id, codes::INTERNAL_ERROR, "nobody could answer")
                }
                Err(NoAnswer::Rejected) => {
                    wire::error_reply(&id, codes::REJECTED_BY_USER, "rejected by the user")
                }
                Err(NoAnswer::NotDeclared) => wire::error_reply(
                    &id,
                    codes::METHOD_NOT_FOUND,
                    "that capability was not declared",
                ),
            };
            Answered { calls: asked_for, message: reply(body) }
        });
        Ok(calls)
    }

    /// The server no longer wants an answer. Which one it means is in its own ids; the open
    /// questions are few, so an answer that comes all the same is ignored by it.
    pub(crate) fn cancelled(&mut self, _params: &Raw) {}

    /// The next answer; pending while no question is open.
    pub(crate) async fn answered(&mut self) -> Option<Answered> {
        if self.open.is_empty() {
            std::future::pending::<()>().await;
        }
        self.open.join_next().await?.ok()
    }
}

fn reply(body: String) -> Outgoing {
    Outgoing { kind: OutKind::Reply, method: String::new(), body, headers: Vec::new() }
}
