//! Dressing a request: its `params`, with the `_meta` that its era asks for.

use serde_json::value::RawValue;

use crate::config::Revision;

/// What every request of one call carries.
#[derive(Clone, Copy, Debug)]
pub struct Dress<'a> {
    /// The revision in use; 2026-07-28 adds the `io.modelcontextprotocol/` keys.
    pub revision: Revision,
    /// `clientCapabilities` of this call, a JSON object.
    pub capabilities: &'a str,
    /// Our progress token, if progress is wanted.
    pub progress_token: Option<u64>,
    /// `_meta` of the caller, a JSON object; keys of ours win over reserved ones in it.
    pub meta: Option<&'a RawValue>,
}

/// Builds one `params` object, member by member; `_meta` comes last.
#[derive(Debug)]
pub struct Params(String);

impl Params {
    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        unimplemented!()
    }

    /// Adds a text member.
    #[must_use]
    pub fn text(self, key: &str, value: &str) -> Self {
        let _ = (key, value);
        unimplemented!()
    }

    /// Adds a member that is JSON already; compacted.
    #[must_use]
    pub fn raw(self, key: &str, json: &str) -> Self {
        let _ = (key, json);
        unimplemented!()
    }

    /// Adds `_meta` (nothing at all if it would be empty) and closes the object.
    #[must_use]
    pub fn dressed(self, dress: &Dress<'_>) -> String {
        let _ = dress;
        unimplemented!()
    }

    /// Closes the object without `_meta`.
    #[must_use]
    pub fn bare(self) -> String {
        unimplemented!()
    }
}

/// `clientInfo`, a JSON object: name `herm` and our version.
#[must_use]
pub fn client_info() -> String {
    unimplemented!()
}
