//! Exposed names, kept in `names.json`: once published, a name stays until its entry is removed.
//!
//! Several configurations may share the file: `--config` replaces the configuration, not the state.
//! So only a host that knows all entries of the configuration that the state belongs to forgets names,
//! and what any other host publishes is kept for good: no host can tell whether that one is gone.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use herm_core::config::Server;
use herm_core::name::{NameTable, NamedTool, ServerName, ServerPart, Skipped};

use super::atomic::Atomic;

/// The table, and its file if names are kept.
#[derive(Debug)]
pub(crate) struct Names {
    file: Option<Atomic>,
    table: Mutex<NameTable>,
    /// What we publish is kept when others forget.
    keep: bool,
}

impl Names {
    /// `configured` are all entries of the configuration that the state belongs to, if they are known:
    /// names of others are forgotten.
    pub(crate) fn load(state: Option<&Path>, configured: Option<&[ServerName]>) -> Self {
        let file = state.map(|state| Atomic::new(state, "names.json"));
        let table = file.as_ref().map(Atomic::content).unwrap_or_default();
        let names = Self { file, table: Mutex::new(table), keep: configured.is_none() };
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
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if forget(&mut table)
            && let Some(file) = &self.file
            && let Err(error) = file.change(forget)
        {
            tracing::warn!(%error, "names of removed servers could not be forgotten");
        }
    }

    /// The names of one server's tools, if none of them is new.
    pub(crate) fn known(&self, server: &Server, raw: &[&str]) -> Option<Named> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.known(&server.name, &part(server), raw, self.keep)
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
        if let Some(file) = &self.file {
            // Another host may have published meanwhile: its names win, as ours will tomorrow.
            let mut merged = None;
            let written = file.change(|kept: &mut NameTable| {
                let named = publish(kept);
                merged = Some((kept.clone(), named));
                true
            });
            if let Err(error) = written {
                // The names are right in this process; the next one makes the same by rule.
                tracing::warn!(%error, "exposed names could not be kept");
            }
            if let Some((kept, named)) = merged {
                *self.table.lock().unwrap_or_else(PoisonError::into_inner) = kept;
                return named;
            }
        }
        publish(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Named tools, and those that get no name.
pub(crate) type Named = (Vec<NamedTool>, Vec<Skipped>);

/// How the names of a server's tools begin.
pub(crate) fn part(server: &Server) -> ServerPart {
    ServerPart::of(&server.name, server.expose_as.as_deref())
}
