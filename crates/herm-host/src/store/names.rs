//! Exposed names, kept in `names.json`: once published, a name stays.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use herm_core::config::Server;
use herm_core::name::{NameTable, NamedTool, ServerPart, Skipped};

use super::atomic::Atomic;

/// The table, and its file if names are kept.
#[derive(Debug)]
pub(crate) struct Names {
    file: Option<Atomic>,
    table: Mutex<NameTable>,
}

impl Names {
    pub(crate) fn load(state: Option<&Path>) -> Self {
        let file = state.map(|state| Atomic::new(state, "names.json"));
        let table = file.as_ref().map(Atomic::content).unwrap_or_default();
        Self { file, table: Mutex::new(table) }
    }

    /// Names the tools of one server. The file is written only for a name that is new.
    pub(crate) fn of(&self, server: &Server, raw: &[&str]) -> (Vec<NamedTool>, Vec<Skipped>) {
        let part = part(server);
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = table.clone();
        let named = known.publish(&server.name, &part, raw);
        if known == *table {
            return named;
        }
        let Some(file) = &self.file else {
            *table = known;
            return named;
        };
        // Another host may have published meanwhile: its names win, as ours will tomorrow.
        let mut merged = None;
        let written = file.change(|kept: &mut NameTable| {
            let named = kept.publish(&server.name, &part, raw);
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
                *table = known;
                named
            }
        }
    }
}

/// How the names of a server's tools begin.
pub(crate) fn part(server: &Server) -> ServerPart {
    ServerPart::of(&server.name, server.expose_as.as_deref())
}
