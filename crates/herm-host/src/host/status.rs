//! How each server is, from what its supervisor has published.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use herm_core::catalog::{Freshness, Standing, freshness};
use herm_core::config::{Server, fingerprint};
use herm_core::lifecycle::{At, Gate, Policy};
use herm_core::name::ServerName;

use super::blocked::Blocked;
use super::{Host, Setup};
use crate::catalogue::Listing;
use crate::clock::Clock;
use crate::context::World;
use crate::status::{BreakerState, Counters, Reason, Remembered, ServerStatus, Skipped, State};
use crate::store::ledgers::Ledgers;
use crate::supervise::{Instance, Published};

/// Nobody waits longer for what is being written.
const KEPT: Duration = Duration::from_secs(1);

impl Host {
    /// How each server is, in the order of the configuration; those that must not run come last.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        self.status_as(|status| status)
    }

    /// The same in another form, which each is given before the next one is looked at.
    pub fn status_as<T>(&self, form: impl Fn(ServerStatus) -> T) -> Vec<T> {
        let blocked = self.blocked.all();
        let may_run = |server: &ServerName| !blocked.iter().any(|one| one.name == *server);
        let all = self.fleet.all();
        let mut out = Vec::with_capacity(all.len() + blocked.len());
        for instance in all.iter().filter(|instance| may_run(&instance.server().name)) {
            out.push(form(self.status_of(instance)));
        }
        out.extend(blocked.iter().map(of_blocked).map(form));
        out
    }

    /// Waits, at most a second, until what these servers have listed is on disk, or is known not to be.
    pub async fn kept(&self, servers: &[ServerName]) {
        drop(tokio::time::timeout(KEPT, self.context.unkept.settled(servers)).await);
    }

    /// How fresh the lists of each server that runs or may run are; those that must not run are left
    /// out. Far cheaper than [`Host::status`].
    #[must_use]
    pub fn freshness(&self) -> HashMap<ServerName, Freshness> {
        let catalogue = self.catalogue();
        let of = |instance: &Arc<Instance>| {
            let name = instance.server().name.clone();
            let fresh = fresh(&instance.window.borrow(), catalogue.server(&name).map(|l| &**l));
            (name, fresh)
        };
        self.fleet.all().iter().map(of).collect()
    }

    /// What the state folder of a configuration remembers of each server's failures. Reads one small
    /// file; no host is needed.
    #[must_use]
    pub fn remembered(setup: &Setup) -> Vec<Remembered> {
        let clock = Clock::start();
        let ledgers = Ledgers::load(setup.state.as_deref(), clock);
        let world = World {
            environment: setup.environment.clone(),
            home: setup.home.clone(),
            workspace: setup.workspace.clone(),
            order: Vec::new(),
        };
        let of = |server: &Server| {
            let entry = world.entry(Arc::new(server.clone()));
            let known = ledgers.recall(&entry).unwrap_or_default();
            Remembered {
                allowance: known.ledger.allowance(clock.now(), &Policy::of(server, false)),
                failures: known.ledger.failures,
                next_attempt: known.ledger.next.map(|at| clock.wall(at)),
                why: known.why,
                fingerprint: fingerprint(server),
                name: server.name.clone(),
            }
        };
        setup.servers.iter().map(of).collect()
    }

    fn status_of(&self, instance: &Instance) -> ServerStatus {
        let window = instance.window.borrow().clone();
        let server = instance.server();
        let session = window.session.as_ref();
        let shared = session.map(|session| &session.peer.shared);
        let reason = window
            .reason
            .as_ref()
            .map(|of| Reason { class: of.1.class(), text: self.context.shown(&server, &of.1) });
        let late = shared.map(|shared| shared.late_answers()).unwrap_or_default();
        let called = shared.map(|shared| shared.seen().call).filter(|at| *at > At::ZERO);
        let pid = session.and_then(|session| session.pid);
        let catalogue = self.catalogue();
        let listing = catalogue.server(&server.name);
        ServerStatus {
            fingerprint: Some(fingerprint(&server)),
            state: window.state,
            reason,
            since: self.context.clock.wall(window.since),
            next_attempt: window.next.map(|at| self.context.clock.wall(at)),
            generation: window.generation,
            breaker: breaker(window.gate),
            revision: session.map(|session| session.revision),
            tools: listing.map_or(0, |listing| listing.tools.len()),
            freshness: fresh(&window, listing.map(|listing| &**listing)),
            not_kept: self.context.unkept.why(&server.name),
            in_flight: shared.map_or(0, |shared| shared.calls()),
            last_call: called.map(|at| self.context.clock.wall(at)),
            pid,
            rss_bytes: pid.and_then(crate::process::rss),
            counters: Counters {
                starts: window.generation,
                losses: window.losses,
                timeouts: instance.timeouts.load(std::sync::atomic::Ordering::Relaxed),
                late_answers: late,
            },
            skipped: shared
                .map(|shared| self.redactor(&server).skipped(shared.skipped()))
                .unwrap_or_default(),
            name: server.name.clone(),
        }
    }
}

/// Nothing of it runs, whatever ran before.
fn of_blocked(blocked: &Blocked) -> ServerStatus {
    ServerStatus {
        name: blocked.name.clone(),
        fingerprint: None,
        state: State::Blocked,
        reason: Some(Reason { class: "blocked", text: blocked.why.clone() }),
        since: blocked.since,
        next_attempt: None,
        generation: 0,
        breaker: BreakerState::Closed,
        revision: None,
        tools: 0,
        freshness: Freshness::Cached,
        not_kept: None,
        in_flight: 0,
        last_call: None,
        pid: None,
        rss_bytes: None,
        counters: Counters::default(),
        skipped: Skipped::default(),
    }
}

fn breaker(gate: Gate) -> BreakerState {
    match gate {
        Gate::Closed => BreakerState::Closed,
        Gate::Open { .. } => BreakerState::Open,
        Gate::HalfOpen => BreakerState::HalfOpen,
    }
}

fn fresh(window: &Published, listing: Option<&Listing>) -> Freshness {
    let standing = match window.state {
        State::Ready | State::Suspect => Standing::Up,
        State::Parked => Standing::Parked,
        State::Backoff | State::NeedsLogin => Standing::Failed,
        _ => Standing::Down,
    };
    let Some(listing) = listing else {
        return if standing == Standing::Parked { Freshness::Parked } else { Freshness::Cached };
    };
    freshness(standing, listing.hints, listing.is_modern, listing.read.age())
}
