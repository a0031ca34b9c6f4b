//! One task a server: it owns the lifecycle and publishes how the server is.
//!
//! A loop in three phases: `select!` only makes an input, a synchronous step of the machine names an
//! effect, and the effect is carried out without awaiting.

use std::sync::Arc;
use std::time::Duration;

use herm_core::config::{Server, Target};
use herm_core::era::Verdict;
use herm_core::gate;
use herm_core::lifecycle::{Effect, Input, Lifecycle, State as Stage};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::publish;
use crate::refusal::{Cause, Phase, Refusal};
use crate::session::open::Opener;
use crate::session::{Session, list};
use crate::status::State;
use crate::transport::{Graces, LinkError};

/// What is known of one server, published by its supervisor and read by everyone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// Its state.
    pub(crate) state: State,
    /// The last generation.
    pub(crate) generation: u64,
    /// The last generation that failed before it was ready.
    pub(crate) failed: u64,
    /// Why the last one ended, if it failed or was lost.
    pub(crate) reason: Option<(Phase, Refusal)>,
    /// The session of a ready server.
    pub(crate) session: Option<Arc<Session>>,
    /// Phases of the last start, with their time.
    pub(crate) phases: Vec<(Phase, Duration)>,
}

/// One server of a host: its configuration, and the bells and the window of its supervisor.
#[derive(Debug)]
pub(crate) struct Instance {
    /// As configured.
    pub(crate) server: Server,
    /// What is known of it.
    pub(crate) window: watch::Sender<Published>,
    /// Rung by demand.
    pub(crate) wanted: Notify,
    /// Rung to end the session that runs.
    pub(crate) close: Notify,
}

impl Instance {
    pub(crate) fn new(server: Server) -> Self {
        let state = if server.enabled { State::Idle } else { State::Disabled };
        let window = watch::Sender::new(Published { state, ..Published::default() });
        Self { server, window, wanted: Notify::new(), close: Notify::new() }
    }

    fn graces(&self) -> Graces {
        let rules = &self.server.supervision;
        Graces { stop: rules.stop_grace, term: rules.term_grace }
    }
}

/// Word of a running attempt.
#[derive(Debug)]
enum Heard {
    Ready { generation: u64, session: Arc<Session>, phases: Vec<(Phase, Duration)> },
}

/// How an attempt ended.
#[derive(Debug)]
struct Ended {
    generation: u64,
    why: Option<(Phase, Refusal)>,
    phases: Vec<(Phase, Duration)>,
}

/// Runs until `stop` is cancelled and the last session has ended.
pub(crate) async fn supervise(
    context: Arc<Context>,
    instance: Arc<Instance>,
    stop: CancellationToken,
) {
    let mut machine = Lifecycle::default();
    let (heard_tx, mut heard) = mpsc::channel(4);
    let mut attempts: JoinSet<Ended> = JoinSet::new();
    let mut close = CancellationToken::new();
    while machine.state() != Stage::Stopped {
        let stopping = machine.state() == Stage::Stopping;
        // Each arm can be dropped half-way without losing anything; none awaits in its body.
        let input = tokio::select! {
            biased;
            // The guard matters: a cancelled token stays ready, and the loop would spin.
            () = stop.cancelled(), if !stopping => Input::Stop,
            Some(ended) = attempts.join_next() => {
                let generation = machine.generation();
                publish_end(&instance, ended.unwrap_or_else(|panic| crashed(generation, &panic)));
                Input::Ended(generation)
            }
            Some(Heard::Ready { generation, session, phases }) = heard.recv() => {
                // The end of a session may be seen before the word that it was ready: published then,
                // a dead session would keep its callers waiting.
                if machine.awaits(generation) {
                    publish_ready(&instance, session, phases);
                }
                Input::Ready(generation)
            }
            () = instance.close.notified() => Input::Close,
            () = instance.wanted.notified() => Input::Want,
        };
        match machine.step(input) {
            Some(Effect::Open(generation)) => {
                close = CancellationToken::new();
                instance.window.send_modify(|window| {
                    window.state = State::Connecting;
                    window.generation = generation;
                });
                let attempt = Attempt {
                    context: Arc::clone(&context),
                    instance: Arc::clone(&instance),
                    generation,
                    heard: heard_tx.clone(),
                    close: close.clone(),
                };
                attempts.spawn(attempt.run());
            }
            Some(Effect::Close) => {
                close.cancel();
                instance.window.send_modify(|window| {
                    window.state = State::Stopping;
                    window.session = None;
                });
            }
            // Nothing to do, or an effect of a later machine.
            _ => {}
        }
    }
}

fn publish_ready(instance: &Instance, session: Arc<Session>, phases: Vec<(Phase, Duration)>) {
    instance.window.send_modify(|window| {
        window.state = State::Ready;
        window.session = Some(session);
        window.phases = phases;
        window.reason = None;
    });
}

fn publish_end(instance: &Instance, ended: Ended) {
    instance.window.send_modify(|window| {
        let was_ready = window.session.take().is_some();
        // An end that we asked for is no failure: whoever waits, waits for what follows it.
        let failed = !was_ready && ended.why.is_some();
        let login = matches!(&ended.why, Some((_, Refusal::LoginNeeded { .. })));
        window.state = match instance.server.enabled {
            false => State::Disabled,
            true if login => State::NeedsLogin,
            true => State::Idle,
        };
        if failed {
            window.phases = ended.phases;
            window.failed = ended.generation;
        }
        window.reason = ended.why;
    });
}

fn crashed(generation: u64, panic: &tokio::task::JoinError) -> Ended {
    let why = Refusal::Internal { why: format!("the task of a server ended: {panic}") };
    Ended { generation, why: Some((Phase::Open, why)), phases: Vec::new() }
}

/// One generation of a server, from its start to its end.
#[derive(Debug)]
struct Attempt {
    context: Arc<Context>,
    instance: Arc<Instance>,
    generation: u64,
    heard: mpsc::Sender<Heard>,
    close: CancellationToken,
}

impl Attempt {
    async fn run(self) -> Ended {
        let mut phases = Vec::new();
        let mut peers = JoinSet::new();
        // Boxed, here and in `live`: what a start or a list needs is not kept by an idle session.
        let started = Box::pin(self.start(&mut peers, &mut phases)).await;
        let why = match started {
            Ok(session) => self.live(Arc::new(session), &mut peers, &phases).await,
            Err(why) => why,
        };
        // Whatever is left of a peer ends with its set: the process group is killed.
        peers.shutdown().await;
        Ended { generation: self.generation, why, phases }
    }

    /// Opens, lists and publishes. `Err(None)`: closed by us on the way.
    async fn start(
        &self,
        peers: &mut JoinSet<LinkError>,
        phases: &mut Vec<(Phase, Duration)>,
    ) -> Result<Session, Option<(Phase, Refusal)>> {
        // Closed only with the host.
        let _start = self.context.starts.acquire().await.map_err(|_| None)?;
        let (target, environment) = self.resolve().map_err(|why| Some((Phase::Open, why)))?;
        let server = &self.instance.server;
        let opener = Opener {
            server,
            target: &target,
            environment: &environment,
            home: self.context.home.as_deref(),
            care: self.context.care(server, self.generation),
            remembered: self.context.verdicts.recall(server, &target),
            answerer: &self.context.answerer,
            close: &self.close,
            peers,
            phases,
        };
        let session = opener.open().await.map_err(|(phase, cause)| match cause {
            Cause::Stopped => None,
            cause => Some((phase, self.refusal(phase, cause))),
        })?;
        let verdict = Verdict { revision: session.revision, wire: session.wire };
        self.context.verdicts.remember(server, &target, verdict);
        let started = tokio::time::Instant::now();
        let listed = tokio::select! {
            listed = self.list(&session) => listed,
            () = self.close.cancelled() => Err(Cause::Stopped),
        };
        phases.push((Phase::List, started.elapsed()));
        if let Err(cause) = listed {
            session.peer.close(self.instance.graces()).await;
            while peers.join_next().await.is_some() {}
            if matches!(cause, Cause::Stopped) {
                return Err(None);
            }
            return Err(Some((Phase::List, self.refusal(Phase::List, cause))));
        }
        Ok(session)
    }

    /// Every variable replaced, and both gates that stand before a start.
    fn resolve(&self) -> Result<(Target, crate::context::Environment), Refusal> {
        let server = &self.instance.server;
        let name = &server.name;
        let places = self.context.places();
        let lookup = |wanted: &str| self.context.variable(wanted);
        let target = server.resolve(&lookup, &places).map_err(|issues| {
            let each: Vec<String> = issues.iter().map(ToString::to_string).collect();
            Refusal::Config { server: name.clone(), why: each.join("; ") }
        })?;
        if let Some(finding) = gate::screen::entry(server).first() {
            return Err(Refusal::Blocked {
                server: name.clone(),
                why: format!("{}, `{}`: {}", finding.rule, finding.field, finding.evidence),
            });
        }
        let environment = match &target {
            Target::Stdio(stdio) => {
                gate::env::child(self.context.variables(), &stdio.pass_env, &stdio.env)
            }
            _ => crate::context::Environment::new(),
        };
        Ok((target, environment))
    }

    async fn list(&self, session: &Session) -> Result<(), Cause> {
        let server = &self.instance.server;
        let lists = list::lists(session, server.limits.list).await?;
        publish::publish(&self.context, server, session, lists);
        Ok(())
    }

    /// Announces the session and keeps its list fresh, until it ends.
    async fn live(
        &self,
        session: Arc<Session>,
        peers: &mut JoinSet<LinkError>,
        phases: &[(Phase, Duration)],
    ) -> Option<(Phase, Refusal)> {
        let ready = Heard::Ready {
            generation: self.generation,
            session: Arc::clone(&session),
            phases: phases.to_vec(),
        };
        // A closed channel: the supervisor is gone, and so is the close token's owner.
        drop(self.heard.send(ready).await);
        loop {
            tokio::select! {
                () = self.close.cancelled() => {
                    session.peer.close(self.instance.graces()).await;
                    while peers.join_next().await.is_some() {}
                    return None;
                }
                Some(ended) = peers.join_next() => {
                    let error = ended.unwrap_or(LinkError::Closed);
                    return Some((Phase::Call, self.refusal(Phase::Call, Cause::Link(error))));
                }
                () = session.peer.shared.changed.notified() => {
                    tokio::select! {
                        // A failed refresh keeps the last good list.
                        _refreshed = Box::pin(self.list(&session)) => {}
                        () = self.close.cancelled() => {}
                    }
                }
            }
        }
    }

    fn refusal(&self, phase: Phase, cause: Cause) -> Refusal {
        unavailable(&self.instance.server, phase, cause)
    }
}

/// A failed start or a lost link, as its caller sees it.
pub(crate) fn unavailable(server: &Server, phase: Phase, cause: Cause) -> Refusal {
    let server = server.name.clone();
    match cause {
        Cause::Link(LinkError::Http { status: status @ (401 | 403), body, .. }) => {
            Refusal::LoginNeeded { server, status, body }
        }
        cause => {
            let retry_after = match &cause {
                Cause::Link(LinkError::Http { retry_after: Some(after), .. }) => {
                    Some(Duration::from_secs(*after))
                }
                _ => None, // nothing is known of its return
            };
            Refusal::Unavailable { server, phase, cause, retry_after }
        }
    }
}
