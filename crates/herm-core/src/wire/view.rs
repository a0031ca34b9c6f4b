//! Typed views: they read what a decision needs and leave the rest alone.

use super::Raw;
use crate::config::Revision;
use serde_json::value::RawValue;

/// One page of a list: its items as written, in order.
#[derive(Debug)]
pub struct Page {
    /// The items.
    pub items: Vec<Raw>,
    /// `nextCursor`: absent and null end the list, an empty text does not (N-1).
    pub next: Option<String>,
    /// `ttlMs` and `cacheScope`, where given.
    pub ttl_ms: Option<i64>,
    /// `cacheScope`.
    pub cache_scope: Option<String>,
}

/// Reads one page; `key` is `tools`, `resources`, `resourceTemplates` or `prompts`.
///
/// # Errors
/// Why the result is no page.
pub fn page(result: &RawValue, key: &str) -> Result<Page, String> {
    let _ = (result, key);
    unimplemented!()
}

/// A tool definition, as far as we decide on it. `raw` has everything.
#[derive(Clone, Debug)]
pub struct ToolView {
    /// Its name, byte for byte.
    pub name: String,
    /// `title`, else `annotations.title`.
    pub title: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `inputSchema` as written; absent if it was no object or boolean.
    pub input_schema: Option<Raw>,
    /// `outputSchema` as written.
    pub output_schema: Option<Raw>,
    /// `annotations.readOnlyHint` and its kin; absent when not given or of a wrong type.
    pub read_only: Option<bool>,
    /// `annotations.destructiveHint`.
    pub destructive: Option<bool>,
    /// `annotations.idempotentHint`.
    pub idempotent: Option<bool>,
    /// `execution.taskSupport`.
    pub task_support: Option<String>,
    /// The definition as written.
    pub raw: Raw,
}

/// Reads a tool definition.
///
/// # Errors
/// Why this one cannot be used; its neighbours are not touched.
pub fn tool(raw: &RawValue) -> Result<ToolView, String> {
    let _ = raw;
    unimplemented!()
}

/// A resource, a resource template or a prompt: `key` is `uri`, `uriTemplate` or `name`.
#[derive(Clone, Debug)]
pub struct ItemView {
    /// The value of the key.
    pub id: String,
    /// `name`.
    pub name: Option<String>,
    /// `title`.
    pub title: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// As written.
    pub raw: Raw,
}

/// Reads one item.
///
/// # Errors
/// Why it cannot be used.
pub fn item(raw: &RawValue, key: &str) -> Result<ItemView, String> {
    let _ = (raw, key);
    unimplemented!()
}

/// What an opening says of a server.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// `protocolVersion` of an InitializeResult, as written.
    pub version: Option<String>,
    /// `supportedVersions` of a DiscoverResult, as written.
    pub supported: Vec<String>,
    /// `serverInfo` as written (either place, R-3).
    pub server_info: Option<Raw>,
    /// `capabilities` as written.
    pub capabilities: Option<Raw>,
    /// `instructions`: untrusted text.
    pub instructions: Option<String>,
}

/// Reads an InitializeResult.
///
/// # Errors
/// Why it is none (no `protocolVersion` text).
pub fn initialized(result: &RawValue) -> Result<Opened, String> {
    let _ = result;
    unimplemented!()
}

/// Reads a DiscoverResult.
///
/// # Errors
/// Why it is none (no `supportedVersions` array, E-7).
pub fn discovered(result: &RawValue) -> Result<Opened, String> {
    let _ = result;
    unimplemented!()
}

impl Opened {
    /// True if `capabilities` has an object under `key` (`tools`, `resources`, `prompts`, …).
    #[must_use]
    pub fn offers(&self, key: &str) -> bool {
        let _ = key;
        unimplemented!()
    }

    /// Supported revisions that we speak, newest first.
    #[must_use]
    pub fn mutual(&self) -> Vec<Revision> {
        unimplemented!()
    }
}

/// Revisions named by the `data` of an error about versions (`data.supported`), as written; empty
/// when there are none.
#[must_use]
pub fn supported_in(data: &RawValue) -> Vec<String> {
    let _ = data;
    unimplemented!()
}
