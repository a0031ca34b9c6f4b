//! Names as types: what a server is called in the configuration, and what its tools are called.

mod exposed;
mod nearest;
mod table;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use exposed::{ServerPart, Utility, unexposed};
pub use nearest::nearest;
pub use table::{NameTable, NamedTool, Skip, Skipped};

/// The key of a server under `mcp_servers`, 1 to 64 characters.
///
/// Cheap to clone.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct ServerName(Arc<str>);

/// Why a text is no server name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing there.
    #[error("a server name cannot be empty")]
    Empty,
    /// Over 64 characters.
    #[error("a server name has at most 64 characters, this one has {length}")]
    Long {
        /// Its length in characters.
        length: usize,
    },
    /// Begins with `.` or `-`.
    #[error("a server name cannot begin with `{first}`")]
    Start {
        /// The offending character.
        first: char,
    },
    /// Holds `/`, `\` or a control character.
    #[error("a server name cannot contain {found:?}")]
    Char {
        /// The offending character.
        found: char,
    },
}

impl ServerName {
    /// The name as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let length = text.chars().count();
        let Some(first) = text.chars().next() else { return Err(NameError::Empty) };
        if length > 64 {
            return Err(NameError::Long { length });
        }
        if matches!(first, '.' | '-') {
            return Err(NameError::Start { first });
        }
        if let Some(found) = text.chars().find(|c| matches!(c, '/' | '\\') || c.is_control()) {
            return Err(NameError::Char { found });
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
