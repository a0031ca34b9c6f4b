//! What is wrong with a configuration, for a person.

use serde::Serialize;

/// One error or warning, in the shape that `herm check --json` prints.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Issue {
    /// The server concerned, as the file names it; `None`: the whole file.
    pub server: Option<String>,
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// The key, below the entry if `server` is set (`args[1]`, `tools.include`).
    pub key: Option<String>,
    /// What is wrong. Never holds a value that may be secret.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl std::fmt::Display for Issue {
    /// One line: place, server, key, message, hint.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        f.write_str(": ")?;
        if let Some(server) = &self.server {
            write!(f, "server `{server}`: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "`{key}`: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
