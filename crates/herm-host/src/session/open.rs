//! Opening a session: which attempt comes next is decided by `herm_core::era`, made here.

mod evidence;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use herm_core::config::{HttpTarget, Revision, Server, StdioTarget, Target};
use herm_core::era::{Answer, Failed, Opening, Step, Try, Verdict, Wire};
use herm_core::secret::Secret;
use herm_core::wire::params::{self, Dress, Params};
use herm_core::wire::{headers, view};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use self::evidence::{Met, met_failure, met_link, nothing_met};
use super::peer::{Ask, PeerConfig, PeerHandle, peer};
use super::{Session, ended};

use crate::answer::Answerer;
use crate::clock::Clock;
use crate::process::{Care, SpawnPlan};
use crate::refusal::{Cause, Deadline, Phase};
use crate::transport::http::{Client, HttpLink};
use crate::transport::sse::SseLink;
use crate::transport::stdio::StdioLink;
use crate::transport::{Graces, Link, LinkError};

/// A probe on standard streams: silence that long is an answer (E-9).
const PROBE: Duration = Duration::from_secs(10);

/// What an opening needs to know.
#[derive(Debug)]
pub(crate) struct Opener<'a> {
    /// The server as configured.
    pub(crate) server: &'a Server,
    /// Where it is now.
    pub(crate) target: &'a Target,
    /// The whole environment of a child.
    pub(crate) environment: &'a BTreeMap<String, Secret>,
    /// For lookups of node tools.
    pub(crate) home: Option<&'a Path>,
    /// The host's clock.
    pub(crate) clock: Clock,
    /// How a child is looked after.
    pub(crate) care: Care,
    /// What it was last time.
    pub(crate) remembered: Option<Verdict>,
    /// Whose capabilities a handshake declares.
    pub(crate) answerer: &'a Answerer,
    /// Ends the opening: whoever was started is closed with its graces.
    pub(crate) close: &'a CancellationToken,
    /// Where peer tasks live: the attempt's.
    pub(crate) peers: &'a mut JoinSet<LinkError>,
    /// Time of each phase that ended.
    pub(crate) phases: &'a mut Vec<(Phase, Duration)>,
}

/// A peer on some wire.
#[derive(Debug)]
struct On {
    wire: Wire,
    peer: PeerHandle,
    pid: Option<u32>,
}

impl Opener<'_> {
    /// Opens a session within `connect_timeout`; [`Cause::Stopped`] if it was closed on the way.
    pub(crate) async fn open(mut self) -> Result<Session, (Phase, Cause)> {
        let limit = self.server.limits.connect;
        let start = Instant::now();
        let mut on: Option<On> = None;
        let mut doing = (Phase::Open, "the start");
        let first_phase = self.first_phase();
        let close = self.close;
        let opened = tokio::select! {
            opened = timeout_at(start + limit, self.steps(&mut on, &mut doing)) => Some(opened),
            () = close.cancelled() => None,
        };
        let opened = match opened {
            Some(Ok(opened)) => opened,
            Some(Err(_)) => {
                let method = doing.1.to_owned();
                Err((doing.0, Cause::TimedOut { deadline: Deadline::Open, after: limit, method }))
            }
            None => Err((Phase::Open, Cause::Stopped)),
        };
        if self.phases.is_empty() {
            self.phases.push((first_phase, start.elapsed()));
        }
        let failed_first = matches!(&opened, Err((phase, _)) if *phase == first_phase);
        if !failed_first {
            let spent: Duration = self.phases.iter().map(|(_, time)| *time).sum();
            self.phases.push((Phase::Open, start.elapsed().saturating_sub(spent)));
        }
        let (phase, cause) = match opened {
            Ok(session) => return Ok(session),
            Err(failed) => failed,
        };
        let on = on.take();
        let skipped = on.as_ref().map(|on| on.peer.shared.skipped()).unwrap_or_default();
        match self.leave(on).await {
            (Some(left), _) => Err((Phase::Open, Cause::Link(left))),
            (None, words) => Err((phase, cause.beside(skipped, words))),
        }
    }

    fn first_phase(&self) -> Phase {
        match self.target {
            Target::Stdio(_) => Phase::Spawn,
            _ => Phase::Connect,
        }
    }

    async fn steps(
        &mut self,
        on: &mut Option<On>,
        doing: &mut (Phase, &'static str),
    ) -> Result<Session, (Phase, Cause)> {
        let http = match self.target {
            Target::Http(target) => Some(target.kind),
            _ => None,
        };
        let mut opening = Opening::new(self.server.protocol.clone(), http, self.remembered);
        let mut attempt = opening.first();
        let mut fresh = false;
        let mut last = None;
        loop {
            doing.1 = match attempt {
                Try::Discover(..) => "server/discover",
                _ => "initialize",
            };
            let (answer, cause, opened) = match self.reach(on, wire_of(attempt), fresh).await {
                Ok(()) => self.ask(on.as_ref(), attempt).await,
                Err(error) => met_link(error, self.first_phase()),
            };
            // A discovery behind a refusal is a guess of ours: the refusal stays the cause to show.
            let guess = matches!(attempt, Try::Discover(..)) && last.is_some();
            last = if guess { last } else { cause.or(last) };
            match opening.answered(&answer) {
                Step::Try { attempt: next, respawn } => (attempt, fresh) = (next, respawn),
                Step::Open(verdict) => {
                    let Some(on) = on.take() else { return Err(nothing_met()) };
                    return Ok(self.agreed(on, verdict, opened.unwrap_or_default()).await);
                }
                Step::Fail(failed @ Failed::NoCommonRevision { .. }) => {
                    return Err((Phase::Open, Cause::Era(failed)));
                }
                Step::Fail(failed) => {
                    return Err(last.unwrap_or((Phase::Open, Cause::Era(failed))));
                }
                _ => return Err(nothing_met()),
            }
        }
    }

    /// Sees that there is a live peer on this wire.
    async fn reach(
        &mut self,
        on: &mut Option<On>,
        wire: Wire,
        fresh: bool,
    ) -> Result<(), LinkError> {
        let fits = on.as_ref().is_some_and(|on| on.wire == wire && !fresh && !on.peer.is_over());
        if fits {
            return Ok(());
        }
        // The next generation starts only after the old one is reaped.
        if let (Some(left), _) = self.leave(on.take()).await {
            return Err(left);
        }
        let start = Instant::now();
        let (link, pid) = self.link(wire).await?;
        if self.phases.is_empty() {
            self.phases.push((self.first_phase(), start.elapsed()));
        }
        let limits = &self.server.limits;
        let config = PeerConfig {
            server: self.server.name.clone(),
            places: limits.concurrent_calls,
            queue: limits.queue,
            limit: limits.message_bytes,
            answerer: self.answerer.clone(),
            clock: self.clock,
        };
        let (peer, task) = peer(link, &config);
        self.peers.spawn(task);
        *on = Some(On { wire, peer, pid });
        Ok(())
    }

    async fn link(&self, wire: Wire) -> Result<(Link, Option<u32>), LinkError> {
        let limit = self.server.limits.message_bytes;
        match (self.target, wire) {
            (Target::Stdio(target), _) => {
                let link = StdioLink::start(self.plan(target), limit).await?;
                let pid = link.pid();
                Ok((Link::Stdio(Box::new(link)), pid))
            }
            (Target::Http(target), Wire::Sse) => {
                let link = SseLink::open(Client::new(target)?, target, limit).await?;
                Ok((Link::Sse(Box::new(link)), None))
            }
            (Target::Http(target), _) => Ok((streamable(target, limit)?, None)),
            _ => Err(LinkError::Closed),
        }
    }

    fn plan(&self, target: &StdioTarget) -> SpawnPlan {
        SpawnPlan {
            target: target.clone(),
            environment: self.environment.clone(),
            home: self.home.map(Path::to_owned),
            care: self.care.clone(),
        }
    }

    /// What cannot be ended, if there is such a thing, and the last words of what ended.
    async fn leave(&mut self, on: Option<On>) -> (Option<LinkError>, String) {
        if let Some(on) = on {
            on.peer.close(self.graces()).await;
        }
        ended(self.peers).await
    }

    fn graces(&self) -> Graces {
        let rules = &self.server.supervision;
        Graces { stop: rules.stop_grace, term: rules.term_grace }
    }

    async fn ask(&self, on: Option<&On>, attempt: Try) -> Met {
        let Some(on) = on else { return (Answer::Outage, Some(nothing_met()), None) };
        let connect = self.server.limits.connect;
        let (within, method) = match attempt {
            Try::Discover(Wire::Stdio, _) => (PROBE.min(connect), "server/discover"),
            Try::Discover(..) => (connect, "server/discover"),
            _ => (connect, "initialize"),
        };
        let mut ask = Ask::own(method, within, Deadline::Open);
        let declared = self.answerer.capabilities();
        let answer = match attempt {
            Try::Discover(_, revision) => {
                ask.headers = modern_headers(revision, method, None);
                let dress =
                    Dress { revision, capabilities: &declared, progress_token: None, meta: None };
                on.peer.request(ask, |_| Params::new().dressed(&dress)).await
            }
            Try::Initialize(_, revision) => {
                let params = Params::new()
                    .text("protocolVersion", revision.as_str())
                    .raw("capabilities", &declared)
                    .raw("clientInfo", &params::client_info())
                    .bare();
                on.peer.request(ask, |_| params).await
            }
        };
        match answer {
            Ok(result) => {
                let read = match attempt {
                    Try::Discover(..) => view::discovered(&result),
                    _ => view::initialized(&result),
                };
                match read {
                    Ok(opened) => {
                        let versions = match &opened.version {
                            Some(version) => vec![version.clone()],
                            None => opened.supported.clone(),
                        };
                        (Answer::Opened(versions), None, Some(opened))
                    }
                    Err(why) => {
                        let why = format!("its answer to `{method}` is none: {why}");
                        (Answer::Odd, Some((Phase::Open, Cause::Protocol(why))), None)
                    }
                }
            }
            Err(failure) => met_failure(failure, method, on.wire, self.first_phase()),
        }
    }

    async fn agreed(&self, on: On, verdict: Verdict, opened: view::Opened) -> Session {
        on.peer.opened(verdict.revision).await;
        if verdict.revision.is_handshake() {
            on.peer.notify("notifications/initialized", None);
        }
        Session {
            peer: on.peer,
            revision: verdict.revision,
            wire: verdict.wire,
            opened,
            pid: on.pid,
            kept_as: None,
        }
    }
}

/// The headers of one stateless request (H-20); nothing in a handshake era.
pub(crate) fn modern_headers(
    revision: Revision,
    method: &str,
    name: Option<&str>,
) -> Vec<(String, String)> {
    if revision.is_handshake() {
        return Vec::new();
    }
    let mut out = vec![("MCP-Protocol-Version".to_owned(), revision.as_str().to_owned())];
    out.extend(headers::standard(method, name));
    out
}

fn streamable(target: &HttpTarget, limit: usize) -> Result<Link, LinkError> {
    Ok(Link::Http(Box::new(HttpLink::new(Client::new(target)?, target, limit))))
}

fn wire_of(attempt: Try) -> Wire {
    match attempt {
        Try::Initialize(wire, _) | Try::Discover(wire, _) => wire,
    }
}
