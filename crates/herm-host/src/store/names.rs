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

    /// Names the tools of one server. The file is written only for a name that is new.
    pub(crate) fn of(&self, server: &Server, raw: &[&str]) -> (Vec<NamedTool>, Vec<Skipped>) {
        let part = part(server);
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        // One server's: where a hundred are named at a start, each would copy all the others.
        let mut known = table.of(&server.name);
        let publish = |table: &mut NameTable| {
            let named = table.publish(&server.name, &part, raw);
            if self.keep {
                table.keep(&server.name);
            }
            named
        };
        let named = publish(&mut known);
        if known == table.of(&server.name) {
            return named;
        }
        let Some(file) = &self.file else {
            table.take(known);
            return named;
        };
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
        match merged {
            Some((kept, named)) => {
                *table = kept;
                named
            }
            None => {
                table.take(known);
                named
            }
        }
    }
}

/// How the names of a server's tools begin.
pub(crate) fn part(server: &Server) -> ServerPart {
    ServerPart::of(&server.name, server.expose_as.as_deref())
}
