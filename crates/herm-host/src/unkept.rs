//! Why the lists of servers are not kept, or kept ones not used, as of each server's last time.

use std::collections::BTreeMap;

use herm_core::name::ServerName;
use tokio::sync::watch;

/// What became of the lists of a server.
#[derive(Debug)]
enum Fate {
    /// They are on their way to the disk.
    Underway,
    /// They are not kept, and why.
    Unkept(String),
}

/// By server; one that is not in it is kept, or was not listed yet.
#[derive(Debug, Default)]
pub(crate) struct Unkept(watch::Sender<BTreeMap<ServerName, Fate>>);

impl Unkept {
    /// Notes that lists of it are about to be kept.
    pub(crate) fn begin(&self, server: &ServerName) {
        self.0.send_modify(|map| drop(map.insert(server.clone(), Fate::Underway)));
    }

    /// Notes why not.
    pub(crate) fn note(&self, server: &ServerName, why: String) {
        self.0.send_modify(|map| drop(map.insert(server.clone(), Fate::Unkept(why))));
    }

    /// It is kept now, or is no server any more.
    pub(crate) fn forget(&self, server: &ServerName) {
        self.0.send_if_modified(|map| map.remove(server).is_some());
    }

    /// Why not.
    pub(crate) fn why(&self, server: &ServerName) -> Option<String> {
        match self.0.borrow().get(server)? {
            Fate::Unkept(why) => Some(why.clone()),
            Fate::Underway => None,
        }
    }

    /// Waits until nothing of these servers is on its way.
    pub(crate) async fn settled(&self, servers: &[ServerName]) {
        let underway =
            |map: &BTreeMap<_, _>, server| matches!(map.get(server), Some(Fate::Underway));
        let settled = |map: &BTreeMap<_, _>| !servers.iter().any(|server| underway(map, server));
        drop(self.0.subscribe().wait_for(settled).await);
    }
}
