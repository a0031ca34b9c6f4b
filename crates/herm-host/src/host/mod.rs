//! The host's face: start, list, call, reload, stop.

mod blocked;
mod fleet;
mod follow;
mod setup;
mod status;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use herm_core::config::Server;
use herm_core::name::ServerName;
use herm_core::wire::Raw;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::blocked::BlockList;
use self::fleet::Fleet;
pub use self::setup::Setup;
pub(crate) use self::setup::world;
use crate::catalogue::{Catalogue, Tool};
use crate::clock;
use crate::context::{Context, Kept};
use crate::event::Event;
use crate::journal;
use crate::keep;
use crate::lookup;
use crate::redact::Redactor;
use crate::refusal::{Phase, Refusal};
use crate::request::{Caller, Outcome, Request, Target};
use crate::status::{Probe, Reloaded};
use crate::supervise::Instance;
use crate::walk::{self, Asked, Fetch};

/// All servers behind one face.
///
/// Made inside a tokio runtime. Dropping it kills what it started; [`Host::stop`] ends it politely.
#[derive(Debug)]
pub struct Host {
    context: Arc<Context>,
    fleet: Fleet,
    blocked: BlockList,
    journal: Mutex<JoinSet<()>>,
    /// Nothing more will happen.
    written: CancellationToken,
}

impl Host {
    /// A host whose servers are started on demand: by [`Host::connect`], or by a call.
    #[must_use]
    pub fn new(mut setup: Setup) -> Self {
        let world = world(&mut setup);
        let state = setup.state.clone();
        let helper = setup.helper.program();
        let kept =
            Kept { state: setup.state, cache: setup.cache, configured: setup.configured, helper };
        let context = Arc::new(Context::new(world, setup.answerer, kept, setup.safe_mode));
        let fleet = Fleet::new(Arc::clone(&context), setup.servers, setup.keep);
        fleet.also(clock::watch_for_sleep(context.clock, context.resumed.clone()));
        let written = CancellationToken::new();
        let mut journal = JoinSet::new();
        if let Some(state) = state {
            let events = context.events.subscribe();
            journal.spawn(journal::run(state, setup.log_format, events, written.clone()));
        }
        let host = Self {
            context,
            fleet,
            blocked: BlockList::default(),
            journal: Mutex::new(journal),
            written,
        };
        host.block(setup.blocked);
        if setup.keep {
            host.recall();
        }
        host
    }

    /// Offers what is kept of every server that may run and has listed nothing yet: its list needs no
    /// process. Blocks for the reading of a file each.
    fn recall(&self) {
        if self.context.safe_mode {
            return;
        }
        let servers = self.fleet.all().into_iter().map(|instance| instance.server());
        let may_run =
            |server: &Arc<Server>| server.enabled && self.blocked.get(&server.name).is_none();
        let servers: Vec<Arc<Server>> = servers.filter(may_run).collect();
        keep::recall_all(&self.context, &servers, true);
    }

    /// The servers that are to be started without a call: all that are enabled, but for a `lazy` one
    /// whose tools are known. One that is not known is started once, to be listed.
    #[must_use]
    pub fn eager(&self) -> Vec<ServerName> {
        if self.context.safe_mode {
            return Vec::new();
        }
        let catalogue = self.catalogue();
        let eager = |server: &Server| {
            let known = || catalogue.server(&server.name).is_some();
            server.enabled && (server.required || !server.lazy || !known())
        };
        let servers = self.fleet.all().into_iter().map(|instance| instance.server());
        servers.filter(|server| eager(server)).map(|server| server.name.clone()).collect()
    }

    /// Takes up which servers must not run, and says of those that are new in it.
    fn block(&self, blocked: Vec<(ServerName, String)>) {
        for new in self.blocked.replace(blocked, SystemTime::now()) {
            self.context.emit(Event::Faulty { server: new.name, why: new.why });
        }
    }

    /// Starts these servers side by side (8 at once) and waits until each is `ready` or has failed,
    /// within its start budget. Without names: all that are enabled.
    pub async fn connect(&self, names: &[ServerName]) -> Vec<(ServerName, Result<(), Refusal>)> {
        let all = names.is_empty();
        let wanted: Vec<ServerName> = if all {
            let all = self.fleet.all().into_iter().map(|instance| instance.server());
            all.filter(|server| server.enabled).map(|server| server.name.clone()).collect()
        } else {
            names.to_vec()
        };
        let ready = join_all(wanted.into_iter().map(|name| async move {
            let ready = self.ready(&name).await;
            (name, ready)
        }))
        .await;
        if all {
            self.say_started(&ready);
        }
        ready
    }

    fn say_started(&self, ready: &[(ServerName, Result<(), Refusal>)]) {
        let failed = ready.iter().filter_map(|(name, ready)| {
            let why = ready.as_ref().err()?;
            Some((name.clone(), why.brief()))
        });
        self.context.emit(Event::Started {
            tools: self.catalogue().tools().count(),
            servers: ready.iter().filter(|(_, ready)| ready.is_ok()).count(),
            failed: failed.collect(),
        });
    }

    async fn ready(&self, name: &ServerName) -> Result<(), Refusal> {
        let instance = self.usable(name)?;
        let ready = walk::ready(&self.context, &instance, instance.server().limits.start).await;
        self.shown(&instance, ready).map(drop)
    }

    /// What is offered now.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.context.registry.snapshot()
    }

    /// A new number for each catalogue that is published.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.context.registry.changes()
    }

    /// What happens from now on. A listener that is too slow loses the oldest, and learns how many.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.context.events.subscribe()
    }

    /// Adds an event of a front end's.
    pub fn emit(&self, event: Event) {
        self.context.emit(event);
    }

    /// Whether nothing is started or contacted.
    #[must_use]
    pub fn is_safe_mode(&self) -> bool {
        self.context.safe_mode
    }

    /// Whether it has a server of this name, enabled or not, or blocked.
    #[must_use]
    pub fn has(&self, name: &ServerName) -> bool {
        self.fleet.get(name).is_some() || self.blocked.get(name).is_some()
    }

    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    /// [`Refusal`]: anything but a result of the server's.
    pub async fn call(&self, mut request: Request) -> Result<Outcome, Refusal> {
        let came = Instant::now();
        let caller = Arc::new(std::mem::take(&mut request.caller));
        let mut again = false;
        loop {
            let tool = self.find(&request.target, request.deadline).await?;
            let instance = self.usable(&tool.server)?;
            let asked = Asked { request: &request, caller: &caller, came };
            let end = walk::call(&self.context, &instance, tool, asked).await;
            if self.was_replaced(&end) && !std::mem::replace(&mut again, true) {
                continue; // by a reload, before the call was sent: the new one serves
            }
            return self.shown(&instance, end);
        }
    }

    /// Whether a request was refused because its instance has ended, and not the host.
    fn was_replaced<T>(&self, end: &Result<T, Refusal>) -> bool {
        matches!(end, Err(Refusal::Stopping)) && !self.fleet.is_stopping()
    }

    /// Reads a resource; `server` absent: the first server that lists the URI, or has a template
    /// for it. Gives the server and the raw result.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn read(
        &self,
        caller: Caller,
        server: Option<&ServerName>,
        uri: &str,
    ) -> Result<(ServerName, Raw), Refusal> {
        let server = match server {
            Some(server) => server.clone(),
            None => lookup::resource(&self.catalogue(), uri)?,
        };
        let wanted = Fetch { method: "resources/read", name: ("uri", uri), arguments: None };
        let result = self.fetch(&server, caller, wanted).await;
        let result =
            result.map_err(|why| lookup::not_offered(&self.catalogue(), "resource", uri, why));
        Ok((server, result?))
    }

    /// Gets a prompt; `arguments` is a JSON object of texts.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn prompt(
        &self,
        caller: Caller,
        server: &ServerName,
        name: &str,
        arguments: Option<Raw>,
    ) -> Result<Raw, Refusal> {
        let arguments = arguments.as_deref();
        let wanted = Fetch { method: "prompts/get", name: ("name", name), arguments };
        let result = self.fetch(server, caller, wanted).await;
        result.map_err(|why| lookup::not_offered(&self.catalogue(), "prompt", name, why))
    }

    async fn fetch(
        &self,
        server: &ServerName,
        caller: Caller,
        wanted: Fetch<'_>,
    ) -> Result<Raw, Refusal> {
        let caller = &Arc::new(caller);
        let mut instance = self.usable(server)?;
        let mut end = walk::fetch(&self.context, &instance, caller, wanted).await;
        if self.was_replaced(&end) {
            instance = self.usable(server)?;
            end = walk::fetch(&self.context, &instance, caller, wanted).await;
        }
        self.shown(&instance, end)
    }

    /// Connects afresh to one server, a disabled one too, and says how each phase went. A session
    /// that runs is ended first: there is never a second one beside it. No back-off is waited for;
    /// a failure counts.
    pub async fn probe(&self, name: &ServerName) -> Probe {
        let mut probe = Probe::new(name.clone());
        let instance = match self.permitted(name) {
            Ok(instance) => instance,
            Err(why) => {
                probe.failed = Some((Phase::Open, why));
                return probe;
            }
        };
        let server = instance.server();
        // One whole start has its own deadlines; the budget only guards them.
        let budget = server.limits.start + server.supervision.spawn_timeout;
        let ready = walk::anew(&instance, budget).await;
        let window = instance.window.borrow().clone();
        probe.phases = window.phases.to_vec();
        match ready {
            Ok((session, _)) => {
                probe.wire = Some(session.wire);
                probe.revision = Some(session.revision);
                probe.server_info = session.opened.server_info.clone();
                probe.skipped = self.redactor(&server).skipped(session.peer.shared.skipped());
            }
            Err(why) => {
                let phase = window.reason.map_or(Phase::Open, |reason| reason.0);
                probe.failed = Some((phase, self.redactor(&server).refusal(why)));
            }
        }
        probe
    }

    /// Ends the session of a server and starts it afresh, whatever back-off says; back when it is
    /// ready or has failed, within the start budget.
    ///
    /// # Errors
    /// [`Refusal`]: why it is not ready.
    pub async fn restart(&self, name: &ServerName) -> Result<(), Refusal> {
        let instance = self.usable(name)?;
        let budget = instance.server().limits.start + instance.server().supervision.spawn_timeout;
        let ready = walk::anew(&instance, budget).await;
        if self.was_replaced(&ready) {
            return self.ready(name).await; // the new one is as fresh as can be
        }
        self.shown(&instance, ready).map(drop)
    }

    /// Takes up another configuration: a server that did not change is not touched; filters,
    /// time-outs and trust are taken up in place. Waits at most so long for what was started.
    pub async fn reload(&self, mut setup: Setup, wait: Duration) -> Reloaded {
        self.block(std::mem::take(&mut setup.blocked));
        if let Some(configured) = &setup.configured {
            self.context.names.retain(configured);
        }
        let world = world(&mut setup);
        let mut out = self.fleet.reload(setup.servers, world, wait).await;
        // Other filters make another view of the same lists.
        for instance in out.updated.iter().filter_map(|name| self.fleet.get(name)) {
            if !self.context.safe_mode && instance.window.borrow().session.is_none() {
                keep::recall(&self.context, &instance.server());
            }
        }
        for (name, why) in &mut out.failed {
            if let Some(instance) = self.fleet.get(name) {
                *why = self.redactor(&instance.server()).refusal(why.clone());
            }
        }
        let all = self.blocked.all();
        out.blocked = all.iter().map(|one| (one.name.clone(), one.refusal())).collect();
        self.context.emit(Event::Reloaded { what: out.to_string() });
        out
    }

    /// Stops every server and waits for it: no process is left.
    pub async fn stop(&self) {
        self.fleet.stop().await;
        self.written.cancel();
        let mut journal = {
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *journal)
        };
        while journal.join_next().await.is_some() {}
    }

    /// What leaves the host of a failure.
    fn shown<T>(&self, instance: &Instance, end: Result<T, Refusal>) -> Result<T, Refusal> {
        end.map_err(|why| self.redactor(&instance.server()).refusal(why))
    }

    fn redactor(&self, server: &Server) -> Redactor {
        Redactor::new(&self.context, server)
    }

    fn unknown(&self, name: &ServerName) -> Refusal {
        lookup::unknown_server(&self.context.world().order, name)
    }

    /// A server that may be started, whether it is enabled or not.
    fn permitted(&self, name: &ServerName) -> Result<Arc<Instance>, Refusal> {
        if let Some(blocked) = self.blocked.get(name) {
            return Err(blocked.refusal());
        }
        let instance = self.fleet.get(name).ok_or_else(|| self.unknown(name))?;
        if self.context.safe_mode {
            return Err(Refusal::SafeMode { server: name.clone() });
        }
        Ok(instance)
    }

    /// Step 4 of the walk: refuse now what cannot be.
    fn usable(&self, name: &ServerName) -> Result<Arc<Instance>, Refusal> {
        let instance = self.permitted(name)?;
        if !instance.server().enabled {
            return Err(Refusal::Disabled { server: name.clone() });
        }
        Ok(instance)
    }

    /// Step 2 of the walk. A name under the prefix of a server that was not listed yet is not
    /// unknown: the server is started first, within the caller's `own` limit if there is one.
    async fn find(&self, target: &Target, own: Option<Duration>) -> Result<Arc<Tool>, Refusal> {
        if let Some(tool) = lookup::tool(&self.catalogue(), target) {
            return Ok(tool);
        }
        let owner = match target {
            Target::Tool(server, _) => Some(server.clone()),
            Target::Exposed(name) => {
                let servers: Vec<Arc<Server>> =
                    self.fleet.all().iter().map(|instance| instance.server()).collect();
                lookup::owner(servers.iter().map(|server| &**server), name)
            }
        };
        let Some(owner) = owner else {
            return Err(lookup::unknown_tool(&self.catalogue(), target, None));
        };
        let instance = self.usable(&owner)?;
        // What is kept of it from before may not have all that it has now.
        if self.catalogue().server(&owner).is_none_or(|listing| listing.read.is_kept()) {
            let ready = walk::ready_for_call(&self.context, &instance, own).await;
            self.shown(&instance, ready)?;
        }
        let catalogue = self.catalogue();
        let found = lookup::tool(&catalogue, target);
        found.ok_or_else(|| lookup::unknown_tool(&catalogue, target, Some(&owner)))
    }
}
