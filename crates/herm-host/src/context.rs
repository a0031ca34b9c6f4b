//! What all servers of a host share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use herm_core::config::{Places, Server};
use herm_core::name::ServerName;
use herm_core::secret::Secret;
use tokio::sync::{Semaphore, broadcast, watch};

use crate::answer::Answerer;
use crate::clock::Clock;
use crate::event::Event;
use crate::process::Care;
use crate::process::stderr::Log;
use crate::redact::Redactor;
use crate::refusal::Refusal;
use crate::registry::Registry;
use crate::store::catalogs::Catalogs;
use crate::store::ledgers::{Entry, Ledgers};
use crate::store::names::Names;
use crate::store::verdicts::Verdicts;
use crate::unkept::Unkept;

/// The environment of a child.
pub(crate) type Environment = BTreeMap<String, Secret>;

/// Starts that run side by side.
pub(crate) const STARTS: usize = 8;

/// Events that wait for a slow listener; over it, the oldest are lost and counted.
pub(crate) const EVENTS: usize = 256;

/// What a reload may change.
#[derive(Debug)]
pub(crate) struct World {
    /// Variables that configuration and children may see.
    pub(crate) environment: Vec<(String, String)>,
    /// For `~`.
    pub(crate) home: Option<PathBuf>,
    /// For `${workspaceFolder}`.
    pub(crate) workspace: Option<PathBuf>,
    /// The order of the configuration.
    pub(crate) order: Vec<ServerName>,
}

impl World {
    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        // The last one wins, as in an environment that was added to.
        self.environment.iter().rev().find(|(known, _)| known == name).map(|(_, v)| v.clone())
    }

    /// For templates.
    pub(crate) fn places(&self) -> Places {
        Places {
            home: self.home.clone().map(|p| p.display().to_string()),
            workspace: self.workspace.clone().map(|p| p.display().to_string()),
        }
    }

    /// A server, and what its entry comes to here.
    pub(crate) fn entry(&self, server: Arc<Server>) -> Entry {
        let target = server.resolve(&|name: &str| self.variable(name), &self.places()).ok();
        Entry { server, target }
    }

    /// All variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// What is kept on disk, and for whom.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The state folder.
    pub(crate) state: Option<PathBuf>,
    /// The cache folder.
    pub(crate) cache: Option<PathBuf>,
    /// All entries of the configuration that it belongs to.
    pub(crate) configured: Option<Vec<ServerName>>,
    /// The program that guards children.
    pub(crate) helper: Option<PathBuf>,
}

/// Everything that is not one server's.
#[derive(Debug)]
pub(crate) struct Context {
    world: ArcSwap<World>,
    /// The program that guards children.
    helper: Option<PathBuf>,
    /// Where logs are kept.
    state: Option<PathBuf>,
    /// Whose capabilities handshakes declare.
    pub(crate) answerer: Answerer,
    /// Nothing is started or contacted.
    pub(crate) safe_mode: bool,
    /// What is offered.
    pub(crate) registry: Registry,
    /// Exposed names, kept.
    pub(crate) names: Names,
    /// Eras, kept.
    pub(crate) verdicts: Verdicts,
    /// Lists, kept.
    pub(crate) catalogs: Catalogs,
    /// Why lists are not kept.
    pub(crate) unkept: Unkept,
    /// Failures, kept.
    pub(crate) ledgers: Ledgers,
    /// One at a time does what a start waits for.
    gating: Semaphore,
    /// One at a time keeps what servers say, which nobody waits for.
    writer: Semaphore,
    /// 8 starts at once.
    pub(crate) starts: Semaphore,
    /// The host's clock.
    pub(crate) clock: Clock,
    /// Counts sleeps of the machine.
    pub(crate) resumed: watch::Sender<u64>,
    /// What happens.
    pub(crate) events: broadcast::Sender<Event>,
}

impl Context {
    /// Of a host's settings; nothing runs yet.
    pub(crate) fn new(world: World, answerer: Answerer, kept: Kept, safe_mode: bool) -> Self {
        let Kept { state, cache, configured, helper } = kept;
        let clock = Clock::start();
        Self {
            world: ArcSwap::from_pointee(world),
            answerer,
            safe_mode,
            registry: Registry::default(),
            names: Names::load(state.as_deref(), configured.as_deref()),
            verdicts: Verdicts::load(state.as_deref()),
            catalogs: Catalogs::open(cache.as_deref(), state.as_deref()),
            unkept: Unkept::default(),
            ledgers: Ledgers::load(state.as_deref(), clock),
            gating: Semaphore::new(1),
            writer: Semaphore::new(1),
            starts: Semaphore::new(STARTS),
            clock,
            resumed: watch::Sender::new(0),
            events: broadcast::Sender::new(EVENTS),
            helper,
            state,
        }
    }

    /// How a child of this server is looked after.
    pub(crate) fn care(&self, server: &Server, generation: u64) -> Care {
        let log = self
            .state
            .as_deref()
            .map(|state| Log::new(state, &server.name, generation, Redactor::new(self, server)));
        Care { helper: self.helper.clone(), log, limit: server.supervision.spawn_timeout }
    }

    /// Does what reads or writes the ledgers, see [`Self::before_a_start`].
    pub(crate) async fn with_ledgers<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Ledgers) -> T + Send + 'static,
    ) -> Option<T> {
        self.before_a_start(|context| work(&context.ledgers)).await
    }

    /// Does what a start waits for, on a thread that may wait for the disk; `None` if the program ends. A
    /// hundred servers that start at once do not make a hundred threads.
    pub(crate) async fn before_a_start<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        self.on_disk(&self.gating, work).await
    }

    /// The same for all else that is kept: a lock that another program does not give back holds up no
    /// start.
    pub(crate) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        self.on_disk(&self.writer, work).await
    }

    async fn on_disk<T: Send + 'static>(
        self: &Arc<Self>,
        place: &Semaphore,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        if self.state.is_none() {
            return Some(work(self));
        }
        let _place = place.acquire().await.ok()?;
        let context = Arc::clone(self);
        tokio::task::spawn_blocking(move || work(&context)).await.ok()
    }

    /// What a reload may change, as it is now.
    pub(crate) fn world(&self) -> Arc<World> {
        self.world.load_full()
    }

    pub(crate) fn change(&self, world: World) {
        self.world.store(Arc::new(world));
    }

    /// Says what happened.
    pub(crate) fn emit(&self, event: Event) {
        // Without a listener there is nobody to tell.
        drop(self.events.send(event));
    }

    /// The same, where the event costs something to make.
    pub(crate) fn emit_with(&self, event: impl FnOnce() -> Event) {
        if self.events.receiver_count() > 0 {
            self.emit(event());
        }
    }

    /// Why a server failed, as it may be shown beside its name, with the last words of a child.
    pub(crate) fn shown(&self, server: &Server, why: &Refusal) -> String {
        let why = Redactor::new(self, server).refusal(why.clone());
        match why.last_words() {
            Some(line) => format!("{}; its last words: {line}", why.brief()),
            None => why.brief(),
        }
    }
}
