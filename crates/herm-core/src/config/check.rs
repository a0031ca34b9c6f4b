//! A file as written to servers that are right, and all that is wrong, at once.

mod block;
mod entry;
mod foreign;
mod process;
mod report;
mod settings;
mod shell;
mod top;
mod url;

#[cfg(test)]
mod tests;

use super::issue::Issue;
use super::server::Server;
use super::tree::{self, Format};
use report::Report;

/// A whole configuration. One bad entry blocks only its server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The servers, in the order of the file.
    pub servers: Vec<Configured>,
    /// Keys at the top of the file that belong to other programs, and so are left alone.
    pub foreign: Vec<String>,
    /// Whether the file could not be read as a configuration at all. Its servers are then unknown,
    /// not absent: a running host keeps those it has.
    pub unreadable: bool,
    /// `auto_reload: false`: a running host does not look whether the file has changed.
    pub no_auto_reload: bool,
}

/// One entry of the file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Configured {
    /// Right.
    Ready(Box<Server>),
    /// Wrong: it is not contacted until its errors are gone.
    Blocked {
        /// The key as written; it may be no valid server name.
        name: String,
        /// Its errors.
        issues: Vec<Issue>,
    },
}

/// What a check found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Checked {
    /// What can be used.
    pub config: Config,
    /// What must be put right, all of it, those of blocked servers too.
    pub errors: Vec<Issue>,
    /// What should be looked at.
    pub warnings: Vec<Issue>,
}

impl Config {
    /// The servers without errors.
    pub fn ready(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().filter_map(|entry| match entry {
            Configured::Ready(server) => Some(&**server),
            Configured::Blocked { .. } => None,
        })
    }

    /// The entry of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Configured> {
        self.servers.iter().find(|entry| entry.name() == name)
    }
}

impl Checked {
    /// Whether something is wrong with the file as a whole, not with single servers only. A running
    /// host then keeps the configuration it has; a new one may use what [`Checked::config`] holds.
    #[must_use]
    pub fn is_bad_file(&self) -> bool {
        self.errors.iter().any(|issue| issue.server.is_none())
    }
}

impl Configured {
    /// The key under `mcp_servers`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ready(server) => server.name.as_str(),
            Self::Blocked { name, .. } => name,
        }
    }
}

/// Checks a whole file. `file` names it in messages, and its ending says whether it is JSON.
///
/// Never fails: what is wrong is in [`Checked::errors`]. An empty file is a configuration without
/// servers.
#[must_use]
pub fn check(bytes: &[u8], file: &str) -> Checked {
    let format = Format::of(file, bytes);
    let mut report = Report::new(file);
    let config = match tree::read(bytes, format) {
        Ok(root) => top::config(&root, format, &mut report),
        Err(flaw) => {
            report.flaw(flaw);
            Config { unreadable: true, ..Config::default() }
        }
    };
    let (errors, warnings) = report.done();
    Checked { config, errors, warnings }
}
