//! The one way a request goes to a server: look up, decide, be ready, send, clean, answer.
//!
//! Every front end's call, read and prompt comes through here; the steps are those of
//! `ARCHITECTURE.md`. Two messages and one snapshot read a call; no lock.

use std::sync::Arc;
use std::time::Duration;

use herm_core::catalog;
use herm_core::gate::{admit, clean};
use herm_core::wire::headers;
use herm_core::wire::params::{Dress, Params};
use herm_core::wire::{PeerError, Raw, codes, compact, view};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::catalogue::Tool;
use crate::context::Context;
use crate::publish;
use crate::refusal::{Cause, Deadline, Phase, Refusal};
use crate::request::{Caller, Done, Outcome, Progress, Request};
use crate::rounds::{Exchange, Rounds};
use crate::session::open::modern_headers;
use crate::session::peer::Ask;
use crate::session::pending::Failure;
use crate::session::{Session, list};
use crate::status::State;
use crate::supervise::{Instance, Published, unavailable};
use crate::transport::LinkError;

/// A tool call, steps 3 to 10; step 2 (the look-up) gave `tool`.
pub(crate) async fn call(
    context: &Context,
    instance: &Instance,
    mut tool: Arc<Tool>,
    request: Request,
) -> Result<Outcome, Refusal> {
    // Spent by this walk, and by nothing else.
    let _permit = admit(instance, &tool)?;
    let arguments = object(request.arguments.as_deref())?;
    let schema = tool.view.input_schema.as_deref();
    let without = schema.and_then(|schema| catalog::without_forbidden_nulls(&arguments, schema));
    let arguments = without.unwrap_or(arguments);
    let caller = Arc::new(request.caller);
    let mut clock = Clock::new(instance, request.deadline);
    let mut repaired = false;
    let mut way = Way::new(instance);
    loop {
        let (session, generation) = way.session().await?;
        let exchange = Exchange {
            method: "tools/call",
            members: Params::new().text("name", &tool.view.name).raw("arguments", &arguments),
            headers: call_headers(&session, &tool, &arguments)?,
            meta: request.meta.as_deref(),
        };
        let answer =
            run(&session, instance, &mut clock, &caller, exchange, &request.progress).await;
        match answer {
            Err(Met::Failure(Failure::Peer(error)))
                if error.code == codes::HEADER_MISMATCH && !repaired && session.is_modern() =>
            {
                repaired = true;
                tool = refreshed(context, instance, &session, &tool).await?;
            }
            Err(Met::Failure(failure)) if way.replays(&failure, generation) => {}
            Err(met) => return Err(met.refusal(instance)),
            Ok(result) => {
                let result = usable(instance, result)?;
                return Ok(Outcome::Done(Done {
                    server: tool.server.clone(),
                    tool: tool.view.name.clone(),
                    name: tool.name.clone(),
                    result,
                }));
            }
        }
    }
}

/// A read or a prompt: the same walk, without a tool to decide on.
pub(crate) async fn fetch(
    instance: &Instance,
    caller: Caller,
    method: &'static str,
    name: (&'static str, &str),
    arguments: Option<&RawValue>,
) -> Result<Raw, Refusal> {
    let caller = Arc::new(caller);
    let mut clock = Clock::new(instance, None);
    let arguments = arguments.map(|arguments| object(Some(arguments))).transpose()?;
    let mut way = Way::new(instance);
    loop {
        let (session, generation) = way.session().await?;
        let mut members = Params::new().text(name.0, name.1);
        if let Some(arguments) = &arguments {
            members = members.raw("arguments", arguments);
        }
        let headers = modern_headers(session.revision, method, Some(name.1));
        let exchange = Exchange { method, members, headers, meta: None };
        match run(&session, instance, &mut clock, &caller, exchange, &None).await {
            Err(Met::Failure(failure)) if way.replays(&failure, generation) => {}
            Err(met) => return Err(met.refusal(instance)),
            Ok(result) => return usable(instance, result),
        }
    }
}

/// Step 3: the gate decides.
fn admit(instance: &Instance, tool: &Tool) -> Result<admit::Permit, Refusal> {
    let facts = publish::facts(&instance.server, tool);
    match admit::decide(&facts) {
        admit::Decision::Allow(permit) => Ok(permit),
        admit::Decision::Deny(denial) => Err(Refusal::Denied {
            server: tool.server.clone(),
            tool: tool.name.clone(),
            why: denial.to_string(),
        }),
    }
}

/// The time a call has; what a person takes does not count.
#[derive(Debug)]
pub(crate) struct Clock {
    idle: Duration,
    absolute: Duration,
    /// When it was first sent; a second sending has the rest of the same time.
    began: Option<Instant>,
    /// Time in which somebody decided.
    human: Duration,
}

impl Clock {
    fn new(instance: &Instance, own: Option<Duration>) -> Self {
        let limits = &instance.server.limits;
        let absolute = own.unwrap_or(limits.call_absolute);
        let idle = own.unwrap_or(limits.call_idle);
        Self { idle, absolute, began: None, human: Duration::ZERO }
    }

    /// What is left of the absolute limit; the clock runs from the first time this is asked.
    fn left(&mut self) -> Duration {
        let began = *self.began.get_or_insert_with(Instant::now);
        self.absolute.saturating_sub(began.elapsed().saturating_sub(self.human))
    }
}

/// The way to a ready session, and at most one replay on it.
struct Way<'a> {
    instance: &'a Instance,
    refused: Option<u64>,
}

impl<'a> Way<'a> {
    fn new(instance: &'a Instance) -> Self {
        Self { instance, refused: None }
    }

    /// Step 7: the session, waited for within the start budget.
    async fn session(&self) -> Result<(Arc<Session>, u64), Refusal> {
        ready(self.instance, self.refused, self.instance.server.limits.start).await
    }

    /// A request refused as "session unknown" was not executed: once more, on a new session. The
    /// refusal counts only against the generation that was refused.
    fn replays(&mut self, failure: &Failure, generation: u64) -> bool {
        let unknown =
            matches!(failure, Failure::Link { error: LinkError::SessionUnknown, sent: false });
        if !unknown || self.refused.is_some() {
            return false;
        }
        self.refused = Some(generation);
        let window = self.instance.window.borrow();
        if window.generation == generation && window.state == State::Ready {
            self.instance.close.notify_one();
        }
        true
    }
}

/// Waits until the server is ready on a generation other than `not`, or an attempt has failed.
pub(crate) async fn ready(
    instance: &Instance,
    not: Option<u64>,
    budget: Duration,
) -> Result<(Arc<Session>, u64), Refusal> {
    let fits = |generation: u64| Some(generation) != not;
    let failed = {
        let window = instance.window.borrow();
        if let Some(session) = &window.session
            && fits(window.generation)
            && !session.peer.is_over()
        {
            return Ok((Arc::clone(session), window.generation));
        }
        window.failed
    };
    let mut window = instance.window.subscribe();
    let name = || instance.server.name.clone();
    let settled = |window: &Published| {
        let up = window.session.as_ref().is_some_and(|session| !session.peer.is_over());
        (up && fits(window.generation)) || window.failed > failed
    };
    let waited = tokio::time::timeout(budget, settle(instance, &mut window, settled)).await;
    let Ok(waited) = waited else {
        let method = "ready".to_owned();
        let cause = Cause::TimedOut { deadline: Deadline::Start, after: budget, method };
        return Err(unavailable(&instance.server, Phase::Open, cause));
    };
    let window = waited?;
    match (window.session, window.reason) {
        (Some(session), _) => Ok((session, window.generation)),
        (None, Some((_, why))) => Err(why),
        (None, None) => Err(Refusal::Unavailable {
            server: name(),
            phase: Phase::Open,
            cause: Cause::Stopped,
            retry_after: None,
        }),
    }
}

/// Waits until what is published of a server is settled, and rings for it whenever nothing is on its
/// way: a bell that rings while a lost session still ends is heard as "it runs".
async fn settle(
    instance: &Instance,
    window: &mut watch::Receiver<Published>,
    settled: impl Fn(&Published) -> bool,
) -> Result<Published, Refusal> {
    loop {
        {
            let now = window.borrow_and_update();
            if settled(&now) {
                return Ok(now.clone());
            }
            if !matches!(now.state, State::Connecting | State::Ready) {
                instance.wanted.notify_one();
            }
        }
        window.changed().await.map_err(|_| Refusal::Stopping)?;
    }
}

/// What ended an exchange early.
#[derive(Debug)]
pub(crate) enum Met {
    /// A request of it failed.
    Failure(Failure),
    /// It was ended for a reason of its own.
    Refused(Refusal),
}

impl Met {
    fn refusal(self, instance: &Instance) -> Refusal {
        match self {
            Self::Failure(failure) => refusal(instance, failure),
            Self::Refused(refusal) => refusal,
        }
    }
}

/// Step 8, all its rounds.
async fn run(
    session: &Session,
    instance: &Instance,
    clock: &mut Clock,
    caller: &Arc<Caller>,
    exchange: Exchange<'_>,
    progress: &Option<mpsc::Sender<Progress>>,
) -> Result<Raw, Met> {
    let capabilities = caller.answerer.capabilities();
    let mut rounds = Rounds::new(&instance.server.name, caller);
    let before = clock.human;
    loop {
        let left = clock.left();
        let ask = Ask {
            method: exchange.method,
            headers: exchange.headers.clone(),
            idle: clock.idle.min(left),
            absolute: left,
            absolute_is: Deadline::CallAbsolute,
            takes_place: true,
            caller: Some(Arc::clone(caller)),
            progress: progress.clone(),
        };
        let members = rounds.dressed(exchange.members.clone());
        let sent = session.peer.request(ask, |id| {
            members.dressed(&Dress {
                revision: session.revision,
                capabilities: &capabilities,
                progress_token: Some(id),
                meta: exchange.meta,
            })
        });
        let result = sent.await.map_err(|failure| Met::Failure(restated(failure, clock)))?;
        let last = rounds.next(session, result).await.map_err(Met::Refused)?;
        clock.human = before + rounds.human;
        if let Some(result) = last {
            return Ok(result);
        }
    }
}

/// A later round has less time left; the limit that is named is the whole one.
fn restated(failure: Failure, clock: &Clock) -> Failure {
    match failure {
        Failure::TimedOut { deadline: Deadline::CallAbsolute, .. } => {
            Failure::TimedOut { deadline: Deadline::CallAbsolute, after: clock.absolute }
        }
        other => other,
    }
}

/// A failed call, as its caller sees it.
fn refusal(instance: &Instance, failure: Failure) -> Refusal {
    let server = instance.server.name.clone();
    match failure {
        Failure::Peer(error) => unable(&error)
            .map(|what| Refusal::Unanswerable { server: server.clone(), what })
            .unwrap_or(Refusal::Peer { server, error }),
        Failure::BadReply(why) => Refusal::Protocol { server, why },
        Failure::TimedOut { deadline, after } => Refusal::TimedOut { server, deadline, after },
        Failure::Busy { running, queued } => Refusal::Busy { server, running, queued },
        Failure::Link { error, sent } => lost(instance, error, sent),
    }
}

/// The capabilities that the server misses in us, if that is its complaint.
fn unable(error: &PeerError) -> Option<String> {
    if error.code != codes::MISSING_CLIENT_CAPABILITY {
        return None;
    }
    let missing = view::required_in(&*error.data()?);
    let shown = |name: &String| clean::line(name, 64);
    (!missing.is_empty()).then(|| missing.iter().map(shown).collect::<Vec<_>>().join(", "))
}

/// Blame, by kind: was it executed, perhaps executed, or surely not?
fn lost(instance: &Instance, error: LinkError, sent: bool) -> Refusal {
    let server = instance.server.name.clone();
    match error {
        LinkError::Http { status: 401 | 403 | 429 | 503, .. }
        | LinkError::Connect { .. }
        | LinkError::Tls { .. }
        | LinkError::Redirect { .. } => {
            unavailable(&instance.server, Phase::Call, Cause::Link(error))
        }
        LinkError::Http { status, .. } if status < 500 => {
            Refusal::Protocol { server, why: error.to_string() }
        }
        LinkError::TooLarge { .. } | LinkError::NotMcp { .. } => {
            Refusal::Protocol { server, why: error.to_string() }
        }
        error if sent => Refusal::OutcomeUnknown { server, cause: Cause::Link(error) },
        error => unavailable(&instance.server, Phase::Call, Cause::Link(error)),
    }
}

/// Arguments are always one JSON object; absent ones are an empty one.
fn object(arguments: Option<&RawValue>) -> Result<String, Refusal> {
    let Some(arguments) = arguments else { return Ok("{}".to_owned()) };
    if arguments.get().starts_with('{') {
        Ok(compact(arguments.get()).into_owned())
    } else {
        Err(Refusal::BadArguments { why: "they are no JSON object".to_owned() })
    }
}

/// Step 9: a result is one JSON object; what it holds passes as it is.
fn usable(instance: &Instance, result: Raw) -> Result<Raw, Refusal> {
    if result.get().starts_with('{') {
        return Ok(result);
    }
    let shown: String = result.get().chars().take(40).collect();
    let why = format!("its result is no JSON object: {shown}");
    Err(Refusal::Protocol { server: instance.server.name.clone(), why })
}

fn call_headers(
    session: &Session,
    tool: &Tool,
    arguments: &str,
) -> Result<Vec<(String, String)>, Refusal> {
    let mut out = modern_headers(session.revision, "tools/call", Some(&tool.view.name));
    if session.is_modern() && !tool.mirrored.is_empty() {
        let bad = |why: String| Refusal::BadArguments { why };
        let arguments: &RawValue =
            serde_json::from_str(arguments).map_err(|error| bad(error.to_string()))?;
        out.extend(headers::mirrored(&tool.mirrored, arguments).map_err(bad)?);
    }
    Ok(out)
}

/// H-24: the server's tools have changed under us; list them again and take the new definition.
async fn refreshed(
    context: &Context,
    instance: &Instance,
    session: &Session,
    tool: &Tool,
) -> Result<Arc<Tool>, Refusal> {
    let server = &instance.server;
    let lists = list::lists(session, server.limits.list)
        .await
        .map_err(|cause| unavailable(server, Phase::List, cause))?;
    publish::publish(context, server, session, lists);
    let snapshot = context.registry.snapshot();
    snapshot.tool(&tool.name).cloned().ok_or_else(|| Refusal::Unknown {
        what: "tool",
        name: tool.name.clone(),
        server: Some(server.name.clone()),
        hidden: None,
        nearest: None,
    })
}
