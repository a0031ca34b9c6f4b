//! `input_required` rounds (M-1 to M-6): the server asks, the caller's answerer answers, the request
//! goes again.

use std::sync::Arc;
use std::time::Duration;

use herm_core::gate::clean;
use herm_core::name::ServerName;
use herm_core::wire::Raw;
use herm_core::wire::params::Params;
use herm_core::wire::result::{self, InputRequired, ResultKind};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::{Ask, NoAnswer};
use crate::refusal::Refusal;
use crate::request::{Caller, Progress};
use crate::session::Session;

/// Rounds of one call.
pub(crate) const MAX_ROUNDS: u32 = 10;
/// Characters of a method of the server's that are repeated.
const METHOD: usize = 64;
/// Between rounds in which nothing is asked.
const PAUSE: Duration = Duration::from_millis(100);

/// What is sent, apart from what a round adds.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    /// The method.
    pub(crate) method: &'static str,
    /// Its params, open for more members.
    pub(crate) members: Params,
    /// Headers of the stateless era.
    pub(crate) headers: Vec<(String, String)>,
    /// The caller's `_meta`.
    pub(crate) meta: Option<&'a RawValue>,
    /// Where progress goes.
    pub(crate) progress: Option<mpsc::Sender<Progress>>,
}

/// The rounds of one call.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    server: &'a ServerName,
    caller: &'a Arc<Caller>,
    round: u32,
    responses: Option<String>,
    state: Option<Raw>,
    /// Time in which somebody decided.
    pub(crate) human: Duration,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(server: &'a ServerName, caller: &'a Arc<Caller>) -> Self {
        Self { server, caller, round: 0, responses: None, state: None, human: Duration::ZERO }
    }

    /// Adds what the last round was answered with; nothing in the first.
    pub(crate) fn dressed(&mut self, mut members: Params) -> Params {
        if let Some(responses) = self.responses.take() {
            members = members.raw("inputResponses", &responses);
        }
        if let Some(state) = self.state.take() {
            // M-3: byte for byte, never parsed.
            members = members.raw("requestState", state.get());
        }
        members
    }

    /// Takes a result: gives it back if it is the last, else answers what it asks.
    pub(crate) async fn next(
        &mut self,
        session: &Session,
        result: Raw,
    ) -> Result<Option<Raw>, Refusal> {
        let required = match result::kind(&result) {
            ResultKind::Complete => return Ok(Some(result)),
            ResultKind::InputRequired(required) if session.is_modern() => required,
            ResultKind::InputRequired(_) => {
                return Err(self.broken("it asks for input in a revision without rounds"));
            }
            ResultKind::Invalid(why) => return Err(self.broken(&why)),
            _ => return Err(self.broken("its result is of an unknown type")),
        };
        self.round += 1;
        if self.round > MAX_ROUNDS {
            let why = format!("it asked for input {MAX_ROUNDS} times and asks again");
            return Err(self.broken(&why));
        }
        self.answer(required).await.map(|()| None)
    }

    async fn answer(&mut self, required: InputRequired) -> Result<(), Refusal> {
        self.state = required.state;
        if required.requests.is_empty() {
            tokio::time::sleep(PAUSE * self.round).await;
            return Ok(());
        }
        let started = Instant::now();
        let mut responses = Params::new();
        for (key, method, params) in required.requests {
            let ask = Ask {
                server: self.server.clone(),
                method: method.clone(),
                params: Some(params),
                round: self.round,
            };
            let answer = self.caller.answerer.answer(ask).await;
            let answer = answer.map_err(|why| self.unanswered(&method, why))?;
            responses = responses.raw(&key, &answer);
        }
        self.human += started.elapsed();
        self.responses = Some(responses.bare());
        Ok(())
    }

    fn unanswered(&self, method: &str, why: NoAnswer) -> Refusal {
        let what = clean::line(method, METHOD);
        match why {
            NoAnswer::NotDeclared | NoAnswer::Failed | NoAnswer::Rejected => {
                Refusal::Unanswerable { server: self.server.clone(), what }
            }
        }
    }

    fn broken(&self, why: &str) -> Refusal {
        Refusal::Protocol { server: self.server.clone(), why: why.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{METHOD, Rounds};
    use crate::answer::NoAnswer;
    use crate::refusal::Refusal;
    use crate::request::Caller;

    #[test]
    fn a_question_that_is_no_method_is_not_repeated_in_full() {
        let (server, caller) = ("s".parse().unwrap(), Arc::new(Caller::default()));
        let method = "\u{1b}[31mask\n".repeat(1000);
        match Rounds::new(&server, &caller).unanswered(&method, NoAnswer::NotDeclared) {
            Refusal::Unanswerable { what, .. } => {
                assert_eq!(what.chars().count(), METHOD, "{what:?}");
                assert!(!what.contains(|c: char| c.is_control()), "{what:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}
