//! The host's face: start, list, call, stop.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use herm_core::config::Server;
use herm_core::name::ServerName;
use herm_core::wire::Raw;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::answer::Answerer;
use crate::catalogue::{Catalogue, Tool};
use crate::context::{Context, STARTS};
use crate::lookup;
use crate::redact::Redactor;
use crate::refusal::{Phase, Refusal};
use crate::registry::Registry;
use crate::request::{Caller, Outcome, Request, Target};
use crate::status::{
    BreakerState, Counters, Freshness, Probe, Reason, Reloaded, ServerStatus, State,
};
use crate::store::names::Names;
use crate::store::verdicts::Verdicts;
use crate::supervise::{Instance, supervise};
use crate::walk;

/// What a host is made of.
#[derive(Debug)]
pub struct Setup {
    /// Its servers, in the order of the file.
    pub servers: Vec<Server>,
    /// Servers that must not run, and why (a faulty entry, the screen gate).
    pub blocked: Vec<(ServerName, String)>,
    /// Where names and verdicts are kept; absent: nowhere.
    pub state: Option<PathBuf>,
    /// The variables that configuration and children may see.
    pub environment: Vec<(String, String)>,
    /// For `${userHome}` and `~`.
    pub home: Option<PathBuf>,
    /// For `${workspaceFolder}`.
    pub workspace: Option<PathBuf>,
    /// Who answers servers when no call's caller does; what handshake-era servers are told.
    pub answerer: Answerer,
    /// Nothing is started or contacted.
    pub safe_mode: bool,
}

impl Setup {
    /// These servers, our process's environment, nothing kept on disk.
    #[must_use]
    pub fn new(servers: Vec<Server>) -> Self {
        Self {
            servers,
            blocked: Vec::new(),
            state: None,
            environment: environment(),
            home: std::env::home_dir(),
            workspace: std::env::current_dir().ok(),
            answerer: Answerer::None,
            safe_mode: false,
        }
    }
}

/// Our variables; one that is no Unicode cannot be passed on, and is left out.
fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// All servers behind one face.
///
/// Made inside a tokio runtime. Dropping it kills what it started; [`Host::stop`] ends it politely.
#[derive(Debug)]
pub struct Host {
    context: Arc<Context>,
    instances: Vec<Arc<Instance>>,
    blocked: Vec<(ServerName, String)>,
    safe_mode: bool,
    stop: CancellationToken,
    supervisors: Mutex<JoinSet<()>>,
}

impl Host {
    /// A host whose servers are started on demand: by [`Host::connect`], or by a call.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let order = setup.servers.iter().map(|server| server.name.clone()).collect();
        let context = Arc::new(Context {
            environment: setup.environment,
            home: setup.home,
            workspace: setup.workspace,
            answerer: setup.answerer,
            registry: Registry::default(),
            order,
            names: Names::load(setup.state.as_deref()),
            verdicts: Verdicts::load(setup.state.as_deref()),
            starts: Semaphore::new(STARTS),
        });
        let stop = CancellationToken::new();
        let mut supervisors = JoinSet::new();
        let instances: Vec<Arc<Instance>> =
            setup.servers.into_iter().map(|server| Arc::new(Instance::new(server))).collect();
        for instance in &instances {
            let (context, stop) = (Arc::clone(&context), stop.clone());
            supervisors.spawn(supervise(context, Arc::clone(instance), stop));
        }
        let (blocked, safe_mode) = (setup.blocked, setup.safe_mode);
        let supervisors = Mutex::new(supervisors);
        Self { context, instances, blocked, safe_mode, stop, supervisors }
    }

    /// Starts these servers side by side (8 at once) and waits until each is `ready` or has failed,
    /// within its start budget. Without names: all that are enabled.
    pub async fn connect(&self, names: &[ServerName]) -> Vec<(ServerName, Result<(), Refusal>)> {
        let wanted: Vec<ServerName> = if names.is_empty() {
            let enabled = self.instances.iter().filter(|instance| instance.server.enabled);
            enabled.map(|instance| instance.server.name.clone()).collect()
        } else {
            names.to_vec()
        };
        join_all(wanted.into_iter().map(|name| async move {
            let ready = self.ready(&name).await;
            (name, ready)
        }))
        .await
    }

    async fn ready(&self, name: &ServerName) -> Result<(), Refusal> {
        let instance = self.usable(name)?;
        let ready = walk::ready(instance, None, instance.server.limits.start).await;
        self.shown(instance, ready).map(drop)
    }

    /// What is offered now.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.context.registry.snapshot()
    }

    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    /// [`Refusal`]: anything but a result of the server's.
    pub async fn call(&self, request: Request) -> Result<Outcome, Refusal> {
        let tool = self.find(&request.target).await?;
        let instance = self.usable(&tool.server)?;
        self.shown(instance, walk::call(&self.context, instance, tool, request).await)
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
        let instance = self.usable(&server)?;
        let result = walk::fetch(instance, caller, "resources/read", ("uri", uri), None).await;
        Ok((server, self.shown(instance, result)?))
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
        let instance = self.usable(server)?;
        let arguments = arguments.as_deref();
        let result = walk::fetch(instance, caller, "prompts/get", ("name", name), arguments).await;
        self.shown(instance, result)
    }

    /// Connects afresh to one server, a disabled one too, and says how each phase went. A session
    /// that runs is ended first: there is never a second one beside it.
    pub async fn probe(&self, name: &ServerName) -> Probe {
        let mut probe = Probe::new(name.clone());
        let instance = match self.permitted(name) {
            Ok(instance) => instance,
            Err(why) => {
                probe.failed = Some((Phase::Open, why));
                return probe;
            }
        };
        let limits = &instance.server.limits;
        let running = {
            let window = instance.window.borrow();
            window.session.is_some().then_some(window.generation)
        };
        if running.is_some() {
            instance.close.notify_one();
        }
        // One whole start has its own deadlines; the budget only guards them.
        let budget = limits.start + instance.server.supervision.spawn_timeout;
        let ready = walk::ready(instance, running, budget).await;
        let window = instance.window.borrow().clone();
        probe.phases = window.phases;
        match ready {
            Ok((session, _)) => {
                probe.wire = Some(session.wire);
                probe.revision = Some(session.revision);
                probe.server_info = session.opened.server_info.clone();
                probe.skipped = self.redactor(instance).skipped(session.peer.shared.skipped());
            }
            Err(why) => {
                let phase = window.reason.map_or(Phase::Open, |(phase, _)| phase);
                probe.failed = Some((phase, self.redactor(instance).refusal(why)));
            }
        }
        probe
    }

    /// How each server is, in the order of the configuration.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        self.instances.iter().map(|instance| self.status_of(instance)).collect()
    }

    fn status_of(&self, instance: &Instance) -> ServerStatus {
        let window = instance.window.borrow().clone();
        let name = instance.server.name.clone();
        let blocked = self.blocked.iter().any(|(blocked, _)| *blocked == name);
        let session = window.session.as_ref();
        ServerStatus {
            state: if blocked { State::Blocked } else { window.state },
            reason: window.reason.map(|(_, why)| Reason {
                class: "failed",
                text: self.redactor(instance).refusal(why).to_string(),
            }),
            since: SystemTime::UNIX_EPOCH,
            next_attempt: None,
            generation: window.generation,
            breaker: BreakerState::Closed,
            revision: session.map(|session| session.revision),
            tools: self.catalogue().server(&name).map_or(0, |listing| listing.tools.len()),
            freshness: if session.is_some() { Freshness::Live } else { Freshness::Cached },
            in_flight: 0,
            last_call: None,
            rss_bytes: None,
            counters: Counters { starts: window.generation, ..Counters::default() },
            pid: session.and_then(|session| session.pid),
            skipped: session
                .map(|session| self.redactor(instance).skipped(session.peer.shared.skipped()))
                .unwrap_or_default(),
            name,
        }
    }

    /// Stops every server and waits for it: no process is left.
    pub async fn stop(&self) {
        self.stop.cancel();
        let mut supervisors = {
            let mut held = self.supervisors.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *held)
        };
        // Each supervisor is bounded by its server's graces.
        while supervisors.join_next().await.is_some() {}
    }

    /// Whether nothing is started or contacted.
    #[must_use]
    pub fn is_safe_mode(&self) -> bool {
        self.safe_mode
    }

    /// A new number for each catalogue that is published.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.context.registry.changes()
    }

    /// Ends the session of a server and starts it afresh; back when it is ready or has failed,
    /// within the start budget.
    ///
    /// # Errors
    /// [`Refusal`]: why it is not ready.
    pub async fn restart(&self, name: &ServerName) -> Result<(), Refusal> {
        let instance = self.usable(name)?;
        let running = {
            let window = instance.window.borrow();
            window.session.is_some().then_some(window.generation)
        };
        if running.is_some() {
            instance.close.notify_one();
        }
        let ready = walk::ready(instance, running, instance.server.limits.start).await;
        self.shown(instance, ready).map(drop)
    }

    /// Takes up another configuration. `wait` bounds the waiting for what was started.
    pub async fn reload(&self, setup: Setup, wait: Duration) -> Reloaded {
        drop((setup, wait));
        Reloaded { unchanged: self.context.order.clone(), ..Reloaded::default() }
    }

    /// What leaves the host of a failure.
    fn shown<T>(&self, instance: &Instance, end: Result<T, Refusal>) -> Result<T, Refusal> {
        end.map_err(|why| self.redactor(instance).refusal(why))
    }

    fn redactor(&self, instance: &Instance) -> Redactor {
        Redactor::new(&self.context, &instance.server)
    }

    /// A server that may be started, whether it is enabled or not.
    fn permitted(&self, name: &ServerName) -> Result<&Instance, Refusal> {
        if let Some((server, why)) = self.blocked.iter().find(|(blocked, _)| blocked == name) {
            return Err(Refusal::Blocked { server: server.clone(), why: why.clone() });
        }
        let found = self.instances.iter().find(|instance| instance.server.name == *name);
        let instance = found.ok_or_else(|| lookup::unknown_server(&self.context.order, name))?;
        if self.safe_mode {
            return Err(Refusal::SafeMode { server: name.clone() });
        }
        Ok(instance)
    }

    /// Step 4 of the walk: refuse now what cannot be.
    fn usable(&self, name: &ServerName) -> Result<&Instance, Refusal> {
        let instance = self.permitted(name)?;
        if !instance.server.enabled {
            return Err(Refusal::Disabled { server: name.clone() });
        }
        Ok(instance)
    }

    /// Step 2 of the walk. A name under the prefix of a server that was not listed yet is not
    /// unknown: the server is started first.
    async fn find(&self, target: &Target) -> Result<Arc<Tool>, Refusal> {
        if let Some(tool) = lookup::tool(&self.catalogue(), target) {
            return Ok(tool);
        }
        let owner = match target {
            Target::Tool(server, _) => Some(server.clone()),
            Target::Exposed(name) => {
                let servers = self.instances.iter().map(|instance| &instance.server);
                lookup::owner(servers, name)
            }
        };
        let Some(owner) = owner else {
            return Err(lookup::unknown_tool(&self.catalogue(), target, None));
        };
        let instance = self.usable(&owner)?;
        if self.catalogue().server(&owner).is_none() {
            let ready = walk::ready(instance, None, instance.server.limits.start).await;
            self.shown(instance, ready)?;
        }
        let catalogue = self.catalogue();
        let found = lookup::tool(&catalogue, target);
        found.ok_or_else(|| lookup::unknown_tool(&catalogue, target, Some(&owner)))
    }
}
