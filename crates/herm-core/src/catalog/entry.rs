//! One server's lists as they are kept: as the server wrote them, unfiltered. Filters, names and policy
//! are a view, made anew each time.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::freshness::{CacheScope, Hints};
use crate::config::Revision;
use crate::era::Wire;
use crate::wire::view::Opened;
use crate::wire::{Raw, compact};

/// The form that is written and read.
const V: u32 = 1;
/// A larger file is neither written nor read: 8 MiB a server.
pub const MAX_BYTES: usize = 8 << 20;

/// What one server offers, as of one whole listing.
#[derive(Clone, Debug)]
pub struct StoredLists {
    /// Fingerprint of the entry that it was reached by, see [`crate::config::fingerprint`].
    pub fingerprint: String,
    /// Whose it is, see [`crate::config::context_mac`].
    pub mac: String,
    /// The name that it had in the configuration when it was written.
    pub server: String,
    /// The revision that was spoken.
    pub revision: Revision,
    /// The wire that it was spoken on.
    pub wire: Wire,
    /// What the opening said: `server_info`, `capabilities` and `instructions`.
    pub opened: Opened,
    /// The generation of the session that was listed; 0 for one that another program has read.
    pub generation: u64,
    /// When, in milliseconds since 1970.
    pub listed_at_ms: i64,
    /// What the server says of their life.
    pub hints: Hints,
    /// Definitions, as written, in the server's order.
    pub tools: Vec<Raw>,
    /// Resources, likewise.
    pub resources: Vec<Raw>,
    /// Resource templates, likewise.
    pub templates: Vec<Raw>,
    /// Prompts, likewise.
    pub prompts: Vec<Raw>,
    /// What was odd about the listing.
    pub warnings: Vec<String>,
}

/// Why a file is not used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// It is no JSON of ours, or was cut or changed.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It belongs to another connection or context than its name says.
    #[error("it is another server's")]
    Foreign,
    /// Another herm wrote it.
    #[error("it has form {0}, and this herm reads form {V}: a newer herm wrote it")]
    Newer(u64),
}

/// The first line of a file.
#[derive(Deserialize, Serialize)]
struct Head {
    v: u64,
    /// Of everything behind this line.
    #[serde(default)]
    hash: String,
}

/// The second line.
#[derive(Deserialize, Serialize)]
struct About {
    fingerprint: String,
    mac: String,
    server: String,
    era: String,
    protocol: String,
    wire: String,
    server_info: Option<Raw>,
    capabilities: Option<Raw>,
    instructions: Option<String>,
    generation: u64,
    listed_at_ms: i64,
    ttl_ms: Option<u64>,
    cache_scope: String,
    warnings: Vec<String>,
}

/// The third line.
#[derive(Deserialize, Serialize)]
struct Lists<L> {
    tools: L,
    resources: L,
    templates: L,
    prompts: L,
}

impl StoredLists {
    /// True on the stateless revision.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        !self.revision.is_handshake()
    }

    /// The text of its file, three lines of JSON: `{v, hash}`, with 64 hex digits of SHA-256 over the
    /// other two; what is known of the server; its lists.
    ///
    /// # Errors
    /// How many bytes it would have, if they are over [`MAX_BYTES`].
    pub fn to_text(&self) -> Result<String, usize> {
        let lists = Lists {
            tools: &self.tools[..],
            resources: &self.resources[..],
            templates: &self.templates[..],
            prompts: &self.prompts[..],
        };
        // Texts, numbers and JSON that was read: there is nothing in it that cannot be written.
        let line = |json: serde_json::Result<String>| json.unwrap_or_default();
        let rest = format!(
            "{}\n{}\n",
            line(serde_json::to_string(&self.about())),
            line(serde_json::to_string(&lists))
        );
        let head = Head { v: u64::from(V), hash: hash(&rest) };
        let text = format!("{}\n{rest}", line(serde_json::to_string(&head)));
        if text.len() > MAX_BYTES { Err(text.len()) } else { Ok(text) }
    }

    fn about(&self) -> About {
        About {
            fingerprint: self.fingerprint.clone(),
            mac: self.mac.clone(),
            server: self.server.clone(),
            era: if self.is_modern() { "stateless" } else { "handshake" }.to_owned(),
            protocol: self.revision.as_str().to_owned(),
            wire: self.wire.as_str().to_owned(),
            server_info: self.opened.server_info.as_ref().map(one_line),
            capabilities: self.opened.capabilities.as_ref().map(one_line),
            instructions: self.opened.instructions.clone(),
            generation: self.generation,
            listed_at_ms: self.listed_at_ms,
            ttl_ms: self.hints.ttl_ms,
            cache_scope: self.hints.scope.as_str().to_owned(),
            warnings: self.warnings.clone(),
        }
    }

    /// Reads a file that is to be of this connection and this context.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn read(text: &str, fingerprint: &str, mac: &str) -> Result<Self, Unusable> {
        let damaged = |why: &dyn std::fmt::Display| Unusable::Damaged(why.to_string());
        let (head, rest) = text.split_once('\n').ok_or_else(|| damaged(&"it was cut"))?;
        let head: Head = serde_json::from_str(head).map_err(|why| damaged(&why))?;
        // First its form: what a newer one has, nobody here can know.
        if head.v > u64::from(V) {
            return Err(Unusable::Newer(head.v));
        }
        if hash(rest) != head.hash {
            return Err(damaged(&"it was cut or changed"));
        }
        let (about, lists) = rest.split_once('\n').ok_or_else(|| damaged(&"it was cut"))?;
        let about: About = serde_json::from_str(about).map_err(|why| damaged(&why))?;
        if about.fingerprint != fingerprint || about.mac != mac {
            return Err(Unusable::Foreign);
        }
        let lists: Lists<Vec<Raw>> = serde_json::from_str(lists).map_err(|why| damaged(&why))?;
        Self::of(about, lists).ok_or_else(|| damaged(&"it names a revision or a wire that is none"))
    }

    fn of(about: About, lists: Lists<Vec<Raw>>) -> Option<Self> {
        let scope = CacheScope::of(Some(&about.cache_scope));
        Some(Self {
            revision: about.protocol.parse().ok()?,
            wire: Wire::of(&about.wire)?,
            opened: Opened {
                server_info: about.server_info,
                capabilities: about.capabilities,
                instructions: about.instructions,
                ..Opened::default()
            },
            fingerprint: about.fingerprint,
            mac: about.mac,
            server: about.server,
            generation: about.generation,
            listed_at_ms: about.listed_at_ms,
            hints: Hints { ttl_ms: about.ttl_ms, scope },
            tools: lists.tools,
            resources: lists.resources,
            templates: lists.templates,
            prompts: lists.prompts,
            warnings: about.warnings,
        })
    }
}

/// A server may write its JSON over many lines.
fn one_line(raw: &Raw) -> Raw {
    RawValue::from_string(compact(raw.get()).into_owned()).unwrap_or_else(|_| raw.clone())
}

fn hash(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests;
