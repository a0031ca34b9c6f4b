//! All instances of a host: each with its supervisor, each stopped and replaced on its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use herm_core::config::{Change, Server, diff};
use herm_core::name::ServerName;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::follow::follow;
use crate::context::{Context, World};
use crate::keep;
use crate::refusal::{Cause, Deadline, Refusal, seconds};
use crate::status::Reloaded;
use crate::supervise::{Instance, supervise};
use crate::walk;

/// One instance and the life of its supervisor.
#[derive(Clone, Debug)]
struct Slot {
    instance: Arc<Instance>,
    stop: CancellationToken,
    ended: CancellationToken,
    /// What it offers is taken back with its end.
    withdrawn: Arc<AtomicBool>,
}

impl Slot {
    fn is_of(&self, server: &Server) -> bool {
        self.instance.server().name == server.name
    }
}

/// The instances, in the order of the configuration.
#[derive(Debug)]
pub(super) struct Fleet {
    context: Arc<Context>,
    keep: bool,
    slots: Arc<ArcSwap<Vec<Slot>>>,
    stop: CancellationToken,
    tasks: Mutex<JoinSet<()>>,
    /// Those that were stopped by a reload and may not have ended. Held while a reload is taken up.
    leaving: Mutex<Vec<Slot>>,
}

impl Fleet {
    pub(super) fn new(context: Arc<Context>, servers: Vec<Server>, keep: bool) -> Self {
        let fleet = Self {
            context,
            keep,
            slots: Arc::default(),
            stop: CancellationToken::new(),
            tasks: Mutex::new(JoinSet::new()),
            leaving: Mutex::new(Vec::new()),
        };
        let start = |server| fleet.start(Arc::new(server), None);
        let mut slots: Vec<Slot> = servers.into_iter().map(start).collect();
        slots.shrink_to_fit(); // collected in the place of the servers, which are far larger
        fleet.slots.store(Arc::new(slots));
        if keep {
            let slots = Arc::clone(&fleet.slots);
            let all = move || instances(&slots.load());
            fleet.also(follow(Arc::clone(&fleet.context), all));
        }
        fleet
    }

    /// Starts a supervisor, once `before` has ended; the server itself waits for demand.
    fn start(&self, server: Arc<Server>, before: Option<CancellationToken>) -> Slot {
        let name = server.name.clone();
        let (instance, orders) = Instance::new(server, self.keep, self.context.clock.now());
        let instance = Arc::new(instance);
        let (stop, ended) = (self.stop.child_token(), CancellationToken::new());
        let done = ended.clone().drop_guard();
        let withdrawn = Arc::new(AtomicBool::new(false));
        let (context, withdraws) = (Arc::clone(&self.context), Arc::clone(&withdrawn));
        let (supervised, stopped) = (Arc::clone(&instance), stop.clone());
        self.tasks().spawn(async move {
            let _done = done;
            if let Some(before) = before {
                before.cancelled().await;
            }
            // Made here: a future that is given to another has room in it twice.
            supervise(Arc::clone(&context), supervised, orders, stopped).await;
            if withdraws.load(Ordering::Acquire) {
                context.registry.remove(&name);
            }
        });
        Slot { instance, stop, ended, withdrawn }
    }

    /// A task that ends with the host.
    pub(super) fn also(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks().spawn(async move {
            tokio::select! {
                () = task => {}
                () = stop.cancelled() => {}
            }
        });
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {} // what a reload has ended
        tasks
    }

    /// One instance.
    pub(super) fn get(&self, name: &ServerName) -> Option<Arc<Instance>> {
        let slots = self.slots.load();
        let slot = slots.iter().find(|slot| slot.instance.server().name == *name)?;
        Some(Arc::clone(&slot.instance))
    }

    /// All, in the order of the configuration.
    pub(super) fn all(&self) -> Vec<Arc<Instance>> {
        instances(&self.slots.load())
    }

    /// True once the host is to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Stops every server and waits for it: each supervisor is bounded by its server's graces.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks());
        while tasks.join_next().await.is_some() {}
    }

    /// Takes up another configuration: what did not change is not touched. Waits for the end of what
    /// goes, and so long for what was started to be ready, or to fail.
    ///
    /// Dropped on the way it has been taken up all the same: only the waiting ends.
    pub(super) async fn reload(
        &self,
        servers: Vec<Server>,
        world: World,
        wait: Duration,
    ) -> Reloaded {
        let Taken { mut out, going, started } = self.take_up(servers, world);
        let ended = join_all(going.iter().map(CancellationToken::cancelled));
        let (failed, _ended) = tokio::join!(self.ready(&started, wait), ended);
        out.failed = failed;
        out
    }

    /// The part of a reload that waits for nothing: from here on each server is the new one, which
    /// starts when the old process is gone.
    fn take_up(&self, servers: Vec<Server>, world: World) -> Taken {
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.retain(|slot| !slot.ended.is_cancelled());
        let old = self.slots.load_full();
        let before = self.context.world();
        let mut plan = Plan::default();
        for server in servers {
            plan.add(old.iter().find(|slot| slot.is_of(&server)), server, &before, &world);
        }
        let Plan { steps, mut out } = plan;
        self.context.change(world);
        let mut slots: Vec<Slot> = Vec::new();
        let mut started = Vec::new();
        for step in steps {
            let (server, old) = match step {
                Step::Keep(slot) => {
                    slots.push(slot);
                    continue;
                }
                Step::Start(server) => (server, None),
                Step::Replace(old, server) => (server, Some(old)),
            };
            let old = old.or_else(|| leaving.iter().rfind(|slot| slot.is_of(&server)).cloned());
            let before = old.map(|slot| slot.ended);
            // A lazy one whose tools are not known is started once, to be listed.
            let runs = self.keep
                && server.enabled
                && !self.context.safe_mode
                && (!keep::recall(&self.context, &server) || !server.lazy || server.required);
            let slot = self.start(server, before.clone());
            if runs {
                slot.instance.wanted.notify_one();
            }
            if runs {
                started.push((Arc::clone(&slot.instance), before));
            }
            slots.push(slot);
        }
        let stays =
            |slot: &&Slot| slots.iter().any(|new| Arc::ptr_eq(&new.instance, &slot.instance));
        let goes: Vec<Slot> = old.iter().filter(|slot| !stays(slot)).cloned().collect();
        self.slots.store(Arc::new(slots));
        for slot in &goes {
            self.dismiss(slot, &mut out);
        }
        let going = goes.iter().map(|slot| slot.ended.clone()).collect();
        leaving.extend(goes);
        Taken { out, going, started }
    }

    /// Ends a server that is no more, or is another one from now on.
    fn dismiss(&self, old: &Slot, out: &mut Reloaded) {
        let name = old.instance.server().name.clone();
        let new = self.get(&name);
        if !new.as_ref().is_some_and(|new| new.server().enabled) {
            // At once, and with its end: a list may be on its way.
            old.withdrawn.store(true, Ordering::Release);
            self.context.registry.remove(&name);
        }
        if new.is_none() {
            self.context.unkept.forget(&name);
            out.stopped.push(name);
        }
        old.stop.cancel();
    }

    /// Asks for each that is to run without a call, and waits for it: not before the old one is gone.
    async fn ready(&self, started: &[Started], wait: Duration) -> Vec<(ServerName, Refusal)> {
        let each = started.iter().map(|(instance, before)| async move {
            let server = instance.server();
            if let Some(before) = before {
                before.cancelled().await;
            }
            let ready = walk::ready(&self.context, instance, wait).await;
            ready.err().map(|why| (server.name.clone(), of_reload(why, wait)))
        });
        join_all(each).await.into_iter().flatten().collect()
    }
}

/// A start goes on when a reload no longer waits for it.
fn of_reload(why: Refusal, wait: Duration) -> Refusal {
    match why {
        Refusal::Unavailable {
            server,
            phase,
            cause: Cause::TimedOut { deadline: Deadline::Start, .. },
            retry_after,
        } => {
            let wait = seconds(wait);
            let text = format!("it is not ready after {wait}, and is still on its way (`--wait`)");
            Refusal::Unavailable { server, phase, cause: Cause::GivenUp(text), retry_after }
        }
        why => why,
    }
}

fn instances(slots: &[Slot]) -> Vec<Arc<Instance>> {
    slots.iter().map(|slot| Arc::clone(&slot.instance)).collect()
}

/// A server that a reload starts, and the end of the one before it.
type Started = (Arc<Instance>, Option<CancellationToken>);

/// A reload that was taken up.
struct Taken {
    out: Reloaded,
    going: Vec<CancellationToken>,
    started: Vec<Started>,
}

/// What a reload does.
#[derive(Debug, Default)]
struct Plan {
    steps: Vec<Step>,
    out: Reloaded,
}

#[derive(Debug)]
enum Step {
    Keep(Slot),
    Start(Arc<Server>),
    Replace(Slot, Arc<Server>),
}

impl Plan {
    fn add(&mut self, found: Option<&Slot>, server: Server, before: &World, after: &World) {
        let name = server.name.clone();
        let Some(slot) = found else {
            self.out.started.push(name);
            self.steps.push(Step::Start(Arc::new(server)));
            return;
        };
        let old = slot.instance.server();
        let change = match diff(&old, &server) {
            Change::Restart => Change::Restart,
            _ if !same_values(&old, before, &server, after) => Change::Restart,
            change => change,
        };
        match change {
            Change::Restart => {
                let list =
                    if server.enabled { &mut self.out.started } else { &mut self.out.stopped };
                list.push(name);
                self.steps.push(Step::Replace(slot.clone(), Arc::new(server)));
            }
            Change::Update => {
                self.out.updated.push(name);
                slot.instance.update(Arc::new(server));
                // Other filters make another list of the same tools.
                if let Some(session) = &slot.instance.window.borrow().session {
                    session.peer.shared.changed.notify_one();
                }
                self.steps.push(Step::Keep(slot.clone()));
            }
            _ => {
                self.out.unchanged.push(name);
                self.steps.push(Step::Keep(slot.clone()));
            }
        }
    }
}

/// True if every variable that the entry uses has the value that it had.
fn same_values(old: &Server, before: &World, new: &Server, after: &World) -> bool {
    let resolved = |server: &Server, world: &World| {
        server.resolve(&|name: &str| world.variable(name), &world.places()).ok()
    };
    let inherited = |world: &World, names: &[String]| -> Vec<Option<String>> {
        names.iter().map(|name| world.variable(name)).collect()
    };
    let passed = |server: &Server| match &server.transport {
        herm_core::config::Transport::Stdio(stdio) => stdio.pass_env.clone(),
        _ => Vec::new(),
    };
    resolved(old, before) == resolved(new, after)
        && inherited(before, &passed(old)) == inherited(after, &passed(new))
}
