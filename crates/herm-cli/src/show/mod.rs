//! How things are shown: to people, and as JSON. Nothing here connects to anything.

pub(crate) mod age;
pub(crate) mod config;
pub(crate) mod issue;
pub(crate) mod items;
pub(crate) mod pretty;
pub(crate) mod probe;
pub(crate) mod result;
pub(crate) mod save;
pub(crate) mod status;

use herm_core::config::Revision;

pub(crate) use herm_gateway::json::{Asked, V, asked, millis};

use crate::command_error::CommandError;
use crate::session::Missing;
use crate::ui::Ui;

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
