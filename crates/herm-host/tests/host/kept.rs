//! What was listed once is there for the next host, and without one.

use herm_core::config::Server;
use herm_core::name::ServerName;
use herm_host::{Cache, Freshness, Host, Setup};
use herm_testkit::{Sandbox, fake, fake_log};

use crate::support::child;

struct Home {
    sandbox: Sandbox,
    servers: Vec<Server>,
}

impl Home {
    fn new(count: usize) -> Self {
        let sandbox = Sandbox::new();
        let server = |n: usize| {
            let name = format!("s{n}");
            let log = sandbox.root().join(format!("{name}.log"));
            let mut server = child(&name, &fake("good", &log));
            server.lazy = true;
            server
        };
        let servers = (0..count).map(server).collect();
        Self { sandbox, servers }
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::new(self.servers.clone());
        setup.state = Some(self.sandbox.home().join("state"));
        setup.cache = Some(self.sandbox.home().join("cache"));
        setup
    }

    async fn list_all(&self) {
        let host = Host::new(self.setup());
        for (name, ready) in host.connect(&[]).await {
            ready.unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        host.stop().await;
    }

    fn starts(&self) -> usize {
        let log = |server: &Server| self.sandbox.root().join(format!("{}.log", server.name));
        self.servers.iter().map(|server| fake_log::spawns(&log(server))).sum()
    }
}

/// The map of all names was made anew for each server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_offers_all_that_is_kept_in_one_step() {
    let home = Home::new(5);
    home.list_all().await;
    let host = Host::new(home.setup());
    let catalogue = host.catalogue();
    assert_eq!((catalogue.servers.len(), catalogue.tools().count()), (5, 5));
    let order: Vec<&ServerName> = catalogue.servers.iter().map(|(name, _)| name).collect();
    assert_eq!(order, home.servers.iter().map(|server| &server.name).collect::<Vec<_>>());
    assert!(catalogue.tools().all(|tool| catalogue.tool(&tool.name).is_some()));
    assert_eq!(*host.changes().borrow(), 1, "snapshots");
    host.stop().await;
    assert_eq!(home.starts(), 5, "of the first host");
}

#[test]
fn what_is_kept_is_seen_without_a_host_or_a_runtime() {
    let home = Home::new(2);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(home.list_all());
    drop(runtime);
    let cache = Cache::open(home.setup());
    let wanted = [home.servers[1].name.clone()];
    let recalled = cache.recall(&wanted, true);
    assert_eq!(recalled.freshness, [(wanted[0].clone(), Freshness::Cached)]);
    assert_eq!(recalled.catalogue.tools().count(), 1);
    assert!(recalled.faults.is_empty(), "{recalled:?}");
    assert_eq!(cache.entries().len(), 2);
    let cleared = cache.clear(Some("s1")).unwrap();
    assert_eq!((&*cleared.servers, cleared.files.len()), (&["s1".to_owned()][..], 1));
    assert!(Cache::open(home.setup()).recall(&wanted, true).catalogue.servers.is_empty());
    assert_eq!(home.starts(), 2);
}

/// A command that only looks made a folder and a key.
#[test]
fn a_look_at_nothing_leaves_nothing_behind() {
    let home = Home::new(1);
    let cache = Cache::open(home.setup());
    assert!(cache.recall(&[home.servers[0].name.clone()], false).catalogue.servers.is_empty());
    assert!(cache.entries().is_empty());
    assert_eq!(cache.clear(None).unwrap().files, []);
    let left = std::fs::read_dir(home.sandbox.home()).unwrap().count();
    assert_eq!(left, 0, "in the home");
}
