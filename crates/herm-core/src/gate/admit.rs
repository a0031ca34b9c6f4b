//! May this call be sent? Decided once for each call, before anything of it reaches a server.

use crate::config::Trust;

/// All that the decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The tool's exposed name.
    pub tool: &'a str,
    /// Whether the tool is offered.
    pub standing: Standing<'a>,
    /// `trust` of its server.
    pub trust: Trust,
    /// What its server says of its effects.
    pub hint: Hint,
}

/// Whether a tool is offered.
#[derive(Clone, Copy, Debug)]
pub enum Standing<'a> {
    /// It is.
    Selected,
    /// It is kept out of the catalogue, for this reason.
    Hidden(&'a str),
}

/// What a server says of a tool's effects (T-3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hint {
    /// `readOnlyHint: true`.
    ReadOnly,
    /// Anything else, nothing included.
    MayWrite,
}

/// What becomes of a call.
#[derive(Debug)]
pub enum Decision {
    /// Send it, with this.
    Allow(Permit),
    /// Do not, for this reason.
    Deny(Denial),
}

/// Why a call is not sent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// The tool is not offered.
    #[error("tool `{tool}` is not offered: {reason}")]
    Hidden {
        /// Its exposed name.
        tool: String,
        /// Why, with what to do about it.
        reason: String,
    },
}

/// Proof that a call passed the gate: sending one consumes it, and only this module makes them.
///
/// ```compile_fail
/// let forged = herm_core::gate::admit::Permit { tool: "t".to_owned() };
/// ```
#[derive(Debug)]
pub struct Permit {
    tool: String,
}

impl Permit {
    /// The exposed name of the tool that may be called.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Uses the permit up, for the call that is sent now; gives the exposed name.
    #[must_use]
    pub fn spend(self) -> String {
        self.tool
    }
}

/// Decides on one call. Refusals come first, so no later rule can lift one.
///
/// For now every offered tool may be called: trust and hint begin to matter with approvals.
#[must_use]
pub fn decide(facts: &CallFacts<'_>) -> Decision {
    match facts.standing {
        Standing::Hidden(reason) => Decision::Deny(Denial::Hidden {
            tool: facts.tool.to_owned(),
            reason: reason.to_owned(),
        }),
        Standing::Selected => Decision::Allow(Permit { tool: facts.tool.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::{CallFacts, Decision, Hint, Standing, decide};
    use crate::config::Trust;
    use std::fmt::Write as _;

    /// The whole policy on one page: a change to any cell shows up in review.
    #[test]
    fn the_decision_table() {
        let mut table = String::new();
        for standing in [Standing::Selected, Standing::Hidden("left out by `tools.exclude`")] {
            for trust in [Trust::Full, Trust::Untrusted] {
                for hint in [Hint::ReadOnly, Hint::MayWrite] {
                    let decision = decide(&CallFacts { tool: "mcp__s__t", standing, trust, hint });
                    let shown = match decision {
                        Decision::Allow(permit) => format!("allow {}", permit.spend()),
                        Decision::Deny(denial) => format!("deny: {denial}"),
                    };
                    let standing = match standing {
                        Standing::Selected => "selected",
                        Standing::Hidden(_) => "hidden",
                    };
                    let (trust, hint) = (format!("{trust:?}"), format!("{hint:?}"));
                    let _ = writeln!(table, "{standing:8} {trust:9} {hint:8} -> {shown}");
                }
            }
        }
        insta::assert_snapshot!(table, @r"
        selected Full      ReadOnly -> allow mcp__s__t
        selected Full      MayWrite -> allow mcp__s__t
        selected Untrusted ReadOnly -> allow mcp__s__t
        selected Untrusted MayWrite -> allow mcp__s__t
        hidden   Full      ReadOnly -> deny: tool `mcp__s__t` is not offered: left out by `tools.exclude`
        hidden   Full      MayWrite -> deny: tool `mcp__s__t` is not offered: left out by `tools.exclude`
        hidden   Untrusted ReadOnly -> deny: tool `mcp__s__t` is not offered: left out by `tools.exclude`
        hidden   Untrusted MayWrite -> deny: tool `mcp__s__t` is not offered: left out by `tools.exclude`
        ");
    }
}
