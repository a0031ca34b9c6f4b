//! Exposed names, kept in `names.json`: once published, a name stays until its entry is removed.
//!
//! Several configurations may share the file: `--config` replaces the configuration, not the state.
//! So only a host that knows all entries of the configuration that the state belongs to forgets names,
//! and what any other host publishes is kept for good: no host can tell whether that one is gone.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use herm_core::config::Server;
use herm_core::name::{NameTable, NamedTool, ServerName, ServerPart, Skipped};

use super::atomic::{Atomic, Stamp};

/// The table, and its file if names are kept.
#[derive(Debug)]
pub(crate) struct Names {
    file: Option<Atomic>,
    table: Mutex<NameTable>,
    /// The file as we have left it; whoever holds this may wait for the disk.
    seen: Mutex<Option<Stamp>>,
    /// What we publish is kept when others forget.
    keep: bool,
}

impl Names {
    /// `configured` are all entries of the configuration that the state belongs to, if they are known:
    /// names of others are forgotten.
    pub(crate) fn load(state: Option<&Path>, configured: Option<&[ServerName]>) -> Self {
        let file = state.map(|state| Atomic::new(state, "names.json"));
        let table = file.as_ref().map(Atomic::content).unwrap_or_default();
        let names = Self {
            file,
            table: Mutex::new(table),
            seen: Mutex::default(),
            keep: configured.is_none(),
        };
        if let Some(configured) = configured {
            names.retain(configured);
        }
        names
    }

    /// Forgets the names of servers that are not configured any more.
    pub(crate) fn retain(&self, configured: &[ServerName]) {
        let forget = |table: &mut NameTable| {
            table.retain(|server| configured.iter().any(|name| name.as_str() == server))
        };
        let mut table = self.table();
        if forget(&mut table)
            && let Some(file) = &self.file
            && let Err(error) = file.change(forget)
        {
            tracing::warn!(%error, "names of removed servers could not be forgotten");
        }
    }

    /// The names of one server's tools, if none of them is new.
    pub(crate) fn known(&self, server: &Server, raw: &[&str]) -> Option<Named> {
        self.table().known(&server.name, &part(server), raw, self.keep)
    }

    /// Names the tools of one server, and keeps the names that are new. Blocks for the lock of the file.
    pub(crate) fn of(&self, server: &Server, raw: &[&str]) -> Named {
        let part = part(server);
        let publish = |table: &mut NameTable| {
            let named = table.publish(&server.name, &part, raw);
            if self.keep {
                table.keep(&server.name);
            }
            named
        };
        let Some(file) = &self.file else { return publish(&mut self.table()) };
        // One at a time: what is written is what is in memory then.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut named = None;
        let written = file.exchange(*seen, |changed: Option<NameTable>| {
            let mut table = self.table();
            if let Some(kept) = changed {
                // Another host has published: its names win, as ours will tomorrow.
                *table = kept;
            }
            named = Some(publish(&mut table));
            serde_json::to_vec_pretty(&*table).ok()
        });
        match written {
            Ok(stamp) => *seen = stamp,
            // The names are right in this process; the next one makes the same by rule.
            Err(error) => tracing::warn!(%error, "exposed names could not be kept"),
        }
        named.unwrap_or_else(|| publish(&mut self.table()))
    }

    fn table(&self) -> MutexGuard<'_, NameTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Named tools, and those that get no name.
pub(crate) type Named = (Vec<NamedTool>, Vec<Skipped>);

/// How the names of a server's tools begin.
pub(crate) fn part(server: &Server) -> ServerPart {
    ServerPart::of(&server.name, server.expose_as.as_deref())
}
