//! All instances of a host: each with its supervisor, each stopped and replaced on its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use herm_core::config::{Change, Server, diff};
use herm_core::name::ServerName;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::follow::follow;
use crate::context::{Context, World};
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
}

/// The instances, in the order of the configuration.
#[derive(Debug)]
pub(super) struct Fleet {
    context: Arc<Context>,
    keep: bool,
    slots: Arc<ArcSwap<Vec<Slot>>>,
    stop: CancellationToken,
    tasks: Mutex<JoinSet<()>>,
    /// One reload at a time.
    reload: Semaphore,
}

impl Fleet {
    pub(super) fn new(context: Arc<Context>, servers: Vec<Server>, keep: bool) -> Self {
        let fleet = Self {
            context,
            keep,
            slots: Arc::default(),
            stop: CancellationToken::new(),
            tasks: Mutex::new(JoinSet::new()),
            reload: Semaphore::new(1),
        };
        let slots = servers.into_iter().map(|server| fleet.start(Arc::new(server))).collect();
        fleet.slots.store(Arc::new(slots));
        if keep {
            let slots = Arc::clone(&fleet.slots);
            let all = move || instances(&slots.load());
            fleet.also(follow(Arc::clone(&fleet.context), all));
        }
        fleet
    }

    /// Starts a supervisor; the server itself waits for demand.
    fn start(&self, server: Arc<Server>) -> Slot {
        let (instance, orders) = Instance::new(server, self.keep, self.context.clock.now());
        let instance = Arc::new(instance);
        let (stop, ended) = (self.stop.child_token(), CancellationToken::new());
        let task =
            supervise(Arc::clone(&self.context), Arc::clone(&instance), orders, stop.clone());
        let done = ended.clone().drop_guard();
        self.tasks().spawn(async move {
            let _done = done;
            task.await;
        });
        Slot { instance, stop, ended }
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

    /// Waits until no reload is under way.
    pub(super) async fn settled(&self) {
        drop(self.reload.acquire().await);
    }

    /// Stops every server and waits for it: each supervisor is bounded by its server's graces.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks());
        while tasks.join_next().await.is_some() {}
    }

    /// Takes up another configuration: what did not change is not touched. Waits so long for what
    /// was started to be ready, or to fail.
    pub(super) async fn reload(
        &self,
        servers: Vec<Server>,
        world: World,
        wait: Duration,
    ) -> Reloaded {
        // The semaphore is never closed.
        let _one = self.reload.acquire().await;
        let old = self.slots.load_full();
        let before = self.context.world();
        let after = Arc::new(world);
        let mut plan = Plan::default();
        for server in servers {
            let found = old.iter().find(|slot| slot.instance.server().name == server.name);
            plan.add(found, server, &before, &after);
        }
        let kept = |slot: &&Slot| plan.keeps(&slot.instance.server().name);
        let gone: Vec<Slot> = old.iter().filter(|slot| !kept(slot)).cloned().collect();
        plan.out.stopped.extend(gone.iter().map(|slot| slot.instance.server().name.clone()));
        self.context.change(World {
            environment: after.environment.clone(),
            home: after.home.clone(),
            workspace: after.workspace.clone(),
            order: after.order.clone(),
        });
        self.carry_out(plan, gone, wait).await
    }

    async fn carry_out(&self, plan: Plan, gone: Vec<Slot>, wait: Duration) -> Reloaded {
        let Plan { steps, mut out } = plan;
        for slot in &gone {
            slot.stop.cancel();
        }
        let mut slots = Vec::new();
        let mut replaced = Vec::new();
        for step in steps {
            match step {
                Step::Keep(slot) => slots.push(slot),
                Step::Start(server) => slots.push(self.start(server)),
                Step::Replace(old, server) => {
                    old.stop.cancel();
                    replaced.push((slots.len(), server, old.clone()));
                    slots.push(old);
                }
            }
        }
        // No call finds a server that is going. Those that are replaced end side by side; the new
        // one starts when the old process is gone.
        join_all(
            gone.iter()
                .chain(replaced.iter().map(|(_, _, old)| old))
                .map(|slot| slot.ended.cancelled()),
        )
        .await;
        for slot in &gone {
            self.context.registry.remove(&slot.instance.server().name);
        }
        for (place, server, _) in replaced {
            if !server.enabled {
                self.context.registry.remove(&server.name);
            }
            if let Some(slot) = slots.get_mut(place) {
                *slot = self.start(server);
            }
        }
        let started: Vec<Arc<Instance>> = slots
            .iter()
            .map(|slot| &slot.instance)
            .filter(|instance| out.started.contains(&instance.server().name))
            .cloned()
            .collect();
        self.slots.store(Arc::new(slots));
        out.failed = self.ready(&started, wait).await;
        out
    }

    /// Asks for each that is to run without a call, and waits for it.
    async fn ready(&self, started: &[Arc<Instance>], wait: Duration) -> Vec<(ServerName, Refusal)> {
        let each = started.iter().map(|instance| async move {
            let server = instance.server();
            if !self.keep || !server.enabled || server.lazy {
                return None;
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

    fn keeps(&self, name: &ServerName) -> bool {
        let of = |step: &Step| match step {
            Step::Keep(slot) | Step::Replace(slot, _) => slot.instance.server().name.clone(),
            Step::Start(server) => server.name.clone(),
        };
        self.steps.iter().any(|step| of(step) == *name)
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
