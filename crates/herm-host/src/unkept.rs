//! Why the lists of servers are not kept, or kept ones not used, as of each server's last time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use herm_core::name::ServerName;

/// By server; one that is not in it is kept, or was not listed yet.
#[derive(Debug, Default)]
pub(crate) struct Unkept(Mutex<BTreeMap<ServerName, String>>);

impl Unkept {
    fn map(&self) -> std::sync::MutexGuard<'_, BTreeMap<ServerName, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes why not.
    pub(crate) fn note(&self, server: &ServerName, why: String) {
        self.map().insert(server.clone(), why);
    }

    /// It is kept now, or is no server any more.
    pub(crate) fn forget(&self, server: &ServerName) {
        self.map().remove(server);
    }

    /// Why not.
    pub(crate) fn why(&self, server: &ServerName) -> Option<String> {
        self.map().get(server).cloned()
    }
}
