//! The published catalogue: servers write whole listings, everyone reads snapshots.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use herm_core::name::ServerName;
use tokio::sync::watch;

use crate::catalogue::{ByName, Catalogue, Listing};

/// One registry holds what all servers offer.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    snapshot: ArcSwap<Catalogue>,
    /// Serialises writers; held for the making of one snapshot.
    writing: Mutex<()>,
    /// Counts snapshots.
    count: watch::Sender<u64>,
}

impl Registry {
    /// What is offered now.
    pub(crate) fn snapshot(&self) -> Arc<Catalogue> {
        self.snapshot.load_full()
    }

    /// A new number for each snapshot.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// Replaces what these servers offer, in one snapshot; `order` is the order of the configuration.
    pub(crate) fn publish(&self, listings: Vec<(ServerName, Listing)>, order: &[ServerName]) {
        if listings.is_empty() {
            return;
        }
        self.change(|servers| {
            servers.retain(|(name, _)| !listings.iter().any(|(new, _)| new == name));
            servers.extend(listings.into_iter().map(|(name, listing)| (name, Arc::new(listing))));
            let place = |name: &ServerName| order.iter().position(|known| known == name);
            servers.sort_by_cached_key(|(name, _)| place(name));
        });
    }

    /// Takes back what a server offered that is no more.
    pub(crate) fn remove(&self, server: &ServerName) {
        if self.snapshot.load().server(server).is_none() {
            return;
        }
        self.change(|servers| servers.retain(|(name, _)| name != server));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<(ServerName, Arc<Listing>)>)) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut servers = self.snapshot.load().servers.clone();
        change(&mut servers);
        let tools: usize = servers.iter().map(|(_, listing)| listing.tools.len()).sum();
        let mut by_name = HashSet::with_capacity(tools);
        // Exposed names are unique; if they ever are not, the first keeps its tools.
        for tool in servers.iter().flat_map(|(_, listing)| &listing.tools) {
            by_name.insert(ByName(Arc::clone(tool)));
        }
        self.snapshot.store(Arc::new(Catalogue { servers, by_name }));
        self.count.send_modify(|count| *count += 1);
    }
}
