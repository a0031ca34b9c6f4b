//! One generation of a server, from its claim to its end.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herm_core::config::{Server, Target};
use herm_core::era::Verdict;
use herm_core::gate;
use herm_core::lifecycle::End;
use tokio::sync::SemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Instance;
use super::reason::{self, unavailable};
use crate::context::{Context, World};
use crate::event::Event;
use crate::keep;
use crate::publish;
use crate::refusal::{Cause, Phase, Refusal};
use crate::session::open::Opener;
use crate::session::{Session, drained, ended, list, listen};
use crate::store::ledgers::Entry;
use crate::transport::LinkError;

/// How long a start keeps its place among the 8: one that takes longer waits for its server, and
/// that costs this machine nothing.
const PLACE: Duration = Duration::from_secs(2);

/// Lists are read again so long after they were read, at the soonest: a server that says with each
/// list that it has changed keeps nobody busy.
const PAUSE: Duration = Duration::from_millis(200);

/// How long the end of a session waits for what it has to keep: another program may hold the lock of a
/// file, and what is not kept is found out again.
const WRITES: Duration = Duration::from_secs(3);

/// Word of a running attempt.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The session is open.
    Opened { generation: u64 },
    /// It is listed and published.
    Ready { generation: u64, session: Arc<Session>, phases: Vec<(Phase, Duration)> },
    /// A list that changed could not be read again.
    RefreshFailed { generation: u64, cause: Cause },
    /// The server does not know the session any more.
    SessionGone { generation: u64 },
    /// Its process tree is still there, after all means.
    Stuck { generation: u64, error: LinkError },
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) why: Option<(Phase, Refusal)>,
    pub(super) phases: Vec<(Phase, Duration)>,
}

impl Ended {
    fn of(why: Option<(Phase, Refusal)>, phases: Vec<(Phase, Duration)>) -> Self {
        let end = why.as_ref().map_or(End::Asked, |(_, why)| End::Failed(reason::failure(why)));
        Self { end, why, phases }
    }

    pub(super) fn crashed(generation: u64, panic: &tokio::task::JoinError) -> Self {
        let why = format!("the task of generation {generation} ended: {panic}");
        Self::of(Some((Phase::Open, Refusal::Internal { why })), Vec::new())
    }
}

/// The tasks of one generation.
#[derive(Debug, Default)]
struct Tasks {
    /// The one that owns the link, or those of the openings that are tried.
    peers: JoinSet<LinkError>,
    /// Listens for changes.
    listener: JoinSet<()>,
    /// Keep on disk what the server has said. No call waits for them.
    writes: JoinSet<()>,
}

/// One generation of a server.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) context: Arc<Context>,
    pub(super) instance: Arc<Instance>,
    pub(super) generation: u64,
    /// A call brings a parked server's attempt forward.
    pub(super) forward: bool,
    /// Nothing is waited for, nothing spent.
    pub(super) free: bool,
    pub(super) close: CancellationToken,
}

impl Attempt {
    pub(super) async fn run(self) -> Ended {
        // Boxed, here and below: what a start, a list or an end needs is not kept by an idle session.
        if let Err(denied) = Box::pin(self.claim()).await {
            return denied;
        }
        let mut phases = Vec::new();
        let mut tasks = Tasks::default();
        let started = Box::pin(self.start(&mut tasks, &mut phases)).await;
        let why = match started {
            Ok(session) => self.live(session, &mut tasks, &phases).await,
            Err(why) => why,
        };
        // Whatever is left of a peer ends with its set: the process group is killed.
        tasks.peers.shutdown().await;
        let written = async { while tasks.writes.join_next().await.is_some() {} };
        drop(tokio::time::timeout(WRITES, Box::pin(written)).await);
        Box::pin(self.outlive(why.as_ref())).await;
        Ended::of(why, phases)
    }

    /// Waits for what does not end: nothing is started beside it. The supervisor, told, parks the
    /// server meanwhile.
    async fn outlive(&self, why: Option<&(Phase, Refusal)>) {
        if let Some((_, Refusal::Unavailable { cause: Cause::Link(error), .. })) = why
            && let LinkError::Unkillable { remains } = error
        {
            self.instance
                .hear(Heard::Stuck { generation: self.generation, error: error.clone() })
                .await;
            remains.gone().await;
        }
    }

    /// Asks all hosts of the state folder for leave.
    async fn claim(&self) -> Result<(), Ended> {
        let server = self.instance.server();
        let (policy, forward, free) = (self.instance.policy(), self.forward, self.free);
        let entry = self.context.world().entry(Arc::clone(&server));
        let claimed =
            self.context.with_ledgers(move |known| known.claim(&entry, &policy, forward, free));
        match claimed.await {
            Some(Err(known)) => Err(Ended {
                end: End::Denied(known.ledger),
                why: known.why.map(|why| reason::remembered(&server, why)),
                phases: Vec::new(),
            }),
            // The program ends, or there is nothing that forbids it.
            None | Some(Ok(())) => Ok(()),
        }
    }

    /// Opens, lists and publishes. `Err(None)`: closed by us on the way.
    async fn start(
        &self,
        tasks: &mut Tasks,
        phases: &mut Vec<(Phase, Duration)>,
    ) -> Result<Arc<Session>, Option<(Phase, Refusal)>> {
        // Closed only with the host.
        let place = self.context.starts.acquire().await.map_err(|_| None)?;
        // One look: a reload may come between two, and lists would be kept as another context's.
        let (server, world) = (self.instance.server(), self.context.world());
        let resolved = self.resolve(&server, &world);
        let (target, environment) = resolved.map_err(|why| Some((Phase::Open, why)))?;
        let entry = Entry { server: Arc::clone(&server), target: Some(target.clone()) };
        let kept_as = keep::identity(&self.context, &world, &entry);
        let opener = Opener {
            server: &server,
            target: &target,
            environment: &environment,
            home: world.home.as_deref(),
            care: self.context.care(&server, self.generation),
            clock: self.context.clock,
            remembered: self.context.verdicts.recall(&server, &target),
            answerer: &self.context.answerer,
            close: &self.close,
            peers: &mut tasks.peers,
            phases,
        };
        let opened = placed(opener.open(), place).await;
        let mut session = opened.map_err(|(phase, cause)| match cause {
            Cause::Stopped => None,
            cause => Some((phase, self.refusal(phase, cause))),
        })?;
        self.instance.hear(Heard::Opened { generation: self.generation }).await;
        session.kept_as = kept_as;
        let verdict = Verdict { revision: session.revision, wire: session.wire };
        let context = Arc::clone(&self.context);
        tasks.writes.spawn(async move {
            let remember = move |context: &Context| {
                context.verdicts.remember(&server, &target, verdict);
            };
            context.write(remember).await.unwrap_or_default();
        });
        let started = Instant::now();
        let listing = async {
            if self.instance.keeps() {
                listen::begin(&session, &mut tasks.listener).await;
            }
            self.list(&session, &mut tasks.writes).await
        };
        let listed = tokio::select! {
            listed = listing => listed,
            () = self.close.cancelled() => Err(Cause::Stopped),
        };
        phases.push((Phase::List, started.elapsed()));
        if let Err(cause) = listed {
            tasks.listener.shutdown().await;
            let skipped = session.peer.shared.skipped();
            session.peer.close(self.instance.graces()).await;
            let cause = match ended(&mut tasks.peers).await {
                (Some(left), _) => Cause::Link(left),
                (None, _) if matches!(cause, Cause::Stopped) => return Err(None),
                (None, words) => cause.beside(skipped, words),
            };
            return Err(Some((Phase::List, self.refusal(Phase::List, cause))));
        }
        Ok(Arc::new(session))
    }

    /// Every variable replaced, and both gates that stand before a start.
    fn resolve(
        &self,
        server: &Server,
        world: &World,
    ) -> Result<(Target, crate::context::Environment), Refusal> {
        let name = server.name.clone();
        if self.context.safe_mode {
            return Err(Refusal::SafeMode { server: name });
        }
        let places = world.places();
        let lookup = |wanted: &str| world.variable(wanted);
        let target = server.resolve(&lookup, &places).map_err(|issues| {
            let each: Vec<String> = issues.iter().map(ToString::to_string).collect();
            Refusal::Config { server: name.clone(), why: each.join("; ") }
        })?;
        if let Some(finding) = gate::screen::entry(server).first() {
            let (rule, field) = (finding.rule.to_string(), finding.field.to_string());
            self.context.emit(Event::Skipped { server: name.clone(), rule, field });
            return Err(Refusal::Blocked {
                server: name,
                why: format!("{}, `{}`: {}", finding.rule, finding.field, finding.evidence),
            });
        }
        let environment = match &target {
            Target::Stdio(stdio) => {
                gate::env::child(world.variables(), &stdio.pass_env, &stdio.env)
            }
            _ => crate::context::Environment::new(),
        };
        Ok((target, environment))
    }

    async fn list(&self, session: &Session, writes: &mut JoinSet<()>) -> Result<(), Cause> {
        let server = self.instance.server();
        let lists = list::lists(session, server.limits.list).await?;
        let at = SystemTime::now();
        let stored = keep::stored(&server, session, (&lists, self.generation), at);
        if stored.is_some() {
            self.context.unkept.begin(&server.name);
        }
        publish::publish(&self.context, &server, &publish::Offer::of(session, lists, at)).await;
        if let Some(stored) = stored {
            writes.spawn(keep::keep(Arc::clone(&self.context), Arc::clone(&server), stored));
        }
        self.context.emit_with(|| {
            let catalogue = self.context.registry.snapshot();
            let listing = catalogue.server(&server.name);
            let tools = listing.map(|listing| &*listing.tools).unwrap_or_default();
            let tools = tools.iter().map(|tool| tool.name.clone()).collect();
            Event::Registered { server: server.name.clone(), wire: session.wire, tools }
        });
        Ok(())
    }

    /// Announces the session and keeps its list fresh, until it ends.
    async fn live(
        &self,
        session: Arc<Session>,
        tasks: &mut Tasks,
        phases: &[(Phase, Duration)],
    ) -> Option<(Phase, Refusal)> {
        let ready = Heard::Ready {
            generation: self.generation,
            session: Arc::clone(&session),
            phases: phases.to_vec(),
        };
        Box::pin(self.instance.hear(ready)).await;
        let mut again = None;
        let mut quiet = None;
        loop {
            tokio::select! {
                () = self.close.cancelled() => {
                    return Box::pin(self.close(&session, tasks)).await;
                }
                Some(ended) = tasks.peers.join_next() => {
                    let error = ended.unwrap_or(LinkError::Closed);
                    if matches!(error, LinkError::SessionUnknown) {
                        let gone = Heard::SessionGone { generation: self.generation };
                        Box::pin(self.instance.hear(gone)).await;
                    }
                    return Some((Phase::Call, self.refusal(Phase::Call, Cause::Link(error))));
                }
                Some(_written) = tasks.writes.join_next() => {}
                () = changed(&session, quiet) => {
                    let refreshed = self.refresh(&session, &mut tasks.writes);
                    again = Box::pin(refreshed).await.map(|wait| Instant::now() + wait);
                    quiet = Some(Instant::now() + PAUSE);
                }
                () = super::sleep_until(again) => {
                    again = None;
                    session.peer.shared.changed.notify_one();
                }
            }
        }
    }

    /// Ends the session. What cannot be ended, if there is such a thing, or why it had ended before by
    /// itself.
    async fn close(&self, session: &Session, tasks: &mut Tasks) -> Option<(Phase, Refusal)> {
        // Callers hear of a loss before its teardown is over, and may end the host over it.
        let lost = session.peer.lost().filter(|lost| !matches!(lost, LinkError::SessionUnknown));
        // The end of the subscription is told to the server while there is a way to it.
        tasks.listener.shutdown().await;
        session.peer.close(self.instance.graces()).await;
        let left = drained(&mut tasks.peers).await.or(lost)?;
        Some((Phase::Call, self.refusal(Phase::Call, Cause::Link(left))))
    }

    /// Reads the lists again. The time after which that is worth another try, if the server wants
    /// to be left alone: the change that it told of is not forgotten.
    async fn refresh(&self, session: &Session, writes: &mut JoinSet<()>) -> Option<Duration> {
        let refreshed = tokio::select! {
            refreshed = self.list(session, writes) => refreshed,
            () = self.close.cancelled() => Ok(()),
        };
        match refreshed {
            Err(cause @ Cause::TimedOut { .. }) => {
                let generation = self.generation;
                self.instance.hear(Heard::RefreshFailed { generation, cause }).await;
                None
            }
            Err(Cause::Link(LinkError::Held { seconds })) => Some(Duration::from_secs(seconds)),
            Err(Cause::Link(LinkError::Http { retry_after: Some(after), .. })) => {
                Some(Duration::from_secs(after.max(1)))
            }
            // The last good list stays. An error is an answer: nothing is gained by another session.
            // A lost link says so by itself.
            Ok(()) | Err(_) => None,
        }
    }

    fn refusal(&self, phase: Phase, cause: Cause) -> Refusal {
        unavailable(&self.instance.server(), phase, cause)
    }
}

/// Ends when the server has said that its lists changed, and not before `quiet` is over.
async fn changed(session: &Session, quiet: Option<Instant>) {
    if let Some(quiet) = quiet {
        tokio::time::sleep_until(quiet).await;
    }
    session.peer.shared.changed.notified().await;
}

/// Opens, and gives the place back when that takes long.
async fn placed<T>(opening: impl Future<Output = T>, place: SemaphorePermit<'_>) -> T {
    let mut opening = Box::pin(opening);
    match tokio::time::timeout(PLACE, &mut opening).await {
        Ok(opened) => opened,
        Err(_) => {
            drop(place);
            opening.await
        }
    }
}
