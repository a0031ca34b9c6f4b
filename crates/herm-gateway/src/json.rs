//! The documents of herm's JSON contract: made in one place, for the command line and the control
//! socket alike. `docs/json.md` describes them; fields are added, never removed.

mod failure;
pub(crate) mod status;
mod tools;

use std::time::Duration;

use herm_core::name::ServerName;
use herm_core::wire::Raw;
use herm_host::{Catalogue, Refusal};
use serde::{Deserialize, Serialize};

pub use failure::{Failed, Failure, kind};
pub use status::{
    Configured, CounterDocument, HostStatus, ReasonDocument, ServerState, SilentHost, Status,
    written,
};
pub use tools::{Age, HiddenDocument, Listed, ToolDocument, Tools, hidden, tool, tools};

/// The `v` of every document.
pub const V: u8 = 1;

/// Whole milliseconds.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A call that was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Called {
    /// [`V`].
    pub v: u8,
    /// False on `isError`.
    pub ok: bool,
    /// The server that answered.
    pub server: String,
    /// The raw name of the tool.
    pub tool: String,
    /// Its exposed name.
    pub name: String,
    /// How long it took.
    pub ms: u64,
    /// The result as the server shaped it.
    pub result: Raw,
}

/// A resource that was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Read {
    /// [`V`].
    pub v: u8,
    /// True.
    pub ok: bool,
    /// The server that has it.
    pub server: String,
    /// Its URI.
    pub uri: String,
    /// How long it took.
    pub ms: u64,
    /// The result as the server shaped it.
    pub result: Raw,
}

/// A prompt that was filled in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prompted {
    /// [`V`].
    pub v: u8,
    /// True.
    pub ok: bool,
    /// The server that has it.
    pub server: String,
    /// Its name.
    pub name: String,
    /// How long it took.
    pub ms: u64,
    /// The result as the server shaped it.
    pub result: Raw,
}

/// The definition of one tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Definition {
    /// [`V`].
    pub v: u8,
    /// As its server wrote it; absent if it is not offered.
    pub definition: Option<Raw>,
}

/// How asking one server for its lists went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// Which.
    pub name: String,
    /// Whether it answered.
    pub ok: bool,
    /// Why not.
    pub error: Option<AskedError>,
    /// What is odd about its lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Why a server did not answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AskedError {
    /// A kind of failure.
    pub kind: String,
    /// In words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What a reload did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReloadDocument {
    /// [`V`].
    pub v: u8,
    /// False if a server did not become ready in time, or must not run.
    pub ok: bool,
    /// The host.
    pub pid: u32,
    /// No longer there, or disabled.
    pub stopped: Vec<String>,
    /// New, or started again.
    pub started: Vec<String>,
    /// Changed in place.
    pub updated: Vec<String>,
    /// Not touched.
    pub unchanged: Vec<String>,
    /// Not ready in time, and why.
    pub failed: Vec<Asked>,
    /// Must not run: what is wrong with the entry. New or not.
    #[serde(default)]
    pub blocked: Vec<Asked>,
    /// How each server is now.
    pub servers: Vec<ServerState>,
}

/// One server that was started again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Restarted {
    /// [`V`].
    pub v: u8,
    /// True.
    pub ok: bool,
    /// The host.
    pub pid: u32,
    /// How long it took.
    pub ms: u64,
    /// How the server is now.
    pub server: ServerState,
}

/// A host that ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stopped {
    /// [`V`].
    pub v: u8,
    /// Whether every server has ended.
    pub ok: bool,
    /// The host.
    pub pid: u32,
}

/// One entry for each server that was asked, in that order.
#[must_use]
pub fn asked(
    names: &[ServerName],
    missing: &[(ServerName, Refusal)],
    catalogue: &Catalogue,
) -> Vec<Asked> {
    let entry = |name: &ServerName| {
        let refusal = missing.iter().find(|(known, _)| known == name).map(|(_, refusal)| refusal);
        let listed = catalogue.server(name);
        Asked {
            name: name.to_string(),
            ok: refusal.is_none(),
            error: refusal.map(AskedError::from),
            warnings: listed.map(|listing| listing.warnings.clone()).unwrap_or_default(),
        }
    };
    names.iter().map(entry).collect()
}

impl From<&Refusal> for AskedError {
    fn from(refusal: &Refusal) -> Self {
        Self { kind: kind(refusal).to_owned(), message: refusal.to_string(), hint: refusal.hint() }
    }
}
