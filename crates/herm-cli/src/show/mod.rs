//! How things are shown: to people, and as JSON. Nothing here connects to anything.

pub(crate) mod config;
pub(crate) mod issue;
pub(crate) mod items;
pub(crate) mod pretty;
pub(crate) mod probe;
pub(crate) mod result;
pub(crate) mod save;

use std::time::Duration;

use herm_core::config::Revision;
use herm_core::name::ServerName;
use herm_host::Refusal;
use serde::Serialize;

use crate::command_error::CommandError;
use crate::session::Missing;
use crate::ui::Ui;

/// The `v` of every document.
pub(crate) const V: u8 = 1;

/// A revision as it is written.
pub(crate) fn revision(revision: Revision) -> &'static str {
    match revision {
        Revision::V2024_11_05 => "2024-11-05",
        Revision::V2025_03_26 => "2025-03-26",
        Revision::V2025_06_18 => "2025-06-18",
        Revision::V2025_11_25 => "2025-11-25",
        Revision::V2026_07_28 => "2026-07-28",
        _ => "unknown", // a revision that a newer core may add
    }
}

/// Whole milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How asking one server for its lists went: `servers` of `tools`, `resources`, `prompts`.
#[derive(Debug, Serialize)]
pub(crate) struct Asked {
    name: String,
    ok: bool,
    error: Option<AskedError>,
}

#[derive(Debug, Serialize)]
struct AskedError {
    kind: &'static str,
    message: String,
    hint: Option<String>,
}

/// One entry for each server that was asked, in that order.
pub(crate) fn asked(names: &[ServerName], missing: &[Missing]) -> Vec<Asked> {
    let entry = |name: &ServerName| {
        let refusal = missing.iter().find(|(known, _)| known == name).map(|(_, refusal)| refusal);
        Asked { name: name.to_string(), ok: refusal.is_none(), error: refusal.map(asked_error) }
    };
    names.iter().map(entry).collect()
}

fn asked_error(refusal: &Refusal) -> AskedError {
    AskedError {
        kind: crate::command_error::kind_of(refusal).as_str(),
        message: refusal.to_string(),
        hint: refusal.hint(),
    }
}

/// Says which servers did not answer, and why.
pub(crate) fn say_missing(ui: &mut Ui, missing: &[Missing]) -> Result<(), CommandError> {
    for (_, refusal) in missing {
        ui.warn(refusal)?;
        if let Some(hint) = refusal.hint() {
            ui.hint(hint)?;
        }
    }
    Ok(())
}
