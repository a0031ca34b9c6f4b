//! What may be started or contacted at all.
//!
//! A pass-through for now: its place is fixed (every configuration passes here before anything of
//! it is spawned, opened or saved), the rules come with the gate stack.

use crate::config::Server;

/// Why an entry must not be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The rule that it breaks.
    pub rule: &'static str,
    /// The key below `mcp_servers.<name>` where it stands.
    pub field: String,
    /// The offending part, shortened and redacted.
    pub evidence: String,
}

/// Looks at one entry; empty: it may be used. No rule exists yet, so nothing is found.
#[must_use]
pub fn entry(server: &Server) -> Vec<Finding> {
    let _ = server;
    Vec::new()
}
