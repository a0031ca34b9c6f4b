//! What all servers of a host share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use herm_core::config::{Places, Server};
use herm_core::name::ServerName;
use herm_core::secret::Secret;
use tokio::sync::Semaphore;

use crate::answer::Answerer;
use crate::process::Care;
use crate::process::stderr::Log;
use crate::redact::Redactor;
use crate::registry::Registry;
use crate::store::names::Names;
use crate::store::verdicts::Verdicts;

/// The environment of a child.
pub(crate) type Environment = BTreeMap<String, Secret>;

/// Starts that run side by side.
pub(crate) const STARTS: usize = 8;

/// Everything that is not one server's.
#[derive(Debug)]
pub(crate) struct Context {
    /// Variables that configuration and children may see.
    pub(crate) environment: Vec<(String, String)>,
    /// For `~`.
    pub(crate) home: Option<PathBuf>,
    /// For `${workspaceFolder}`.
    pub(crate) workspace: Option<PathBuf>,
    /// The program that guards children.
    pub(crate) helper: Option<PathBuf>,
    /// Where logs are kept.
    pub(crate) state: Option<PathBuf>,
    /// Whose capabilities handshakes declare.
    pub(crate) answerer: Answerer,
    /// What is offered.
    pub(crate) registry: Registry,
    /// The order of the configuration.
    pub(crate) order: Vec<ServerName>,
    /// Exposed names, kept.
    pub(crate) names: Names,
    /// Eras, kept.
    pub(crate) verdicts: Verdicts,
    /// 8 starts at once.
    pub(crate) starts: Semaphore,
}

impl Context {
    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        // The last one wins, as in an environment that was added to.
        self.environment.iter().rev().find(|(known, _)| known == name).map(|(_, v)| v.clone())
    }

    /// For templates.
    pub(crate) fn places(&self) -> Places {
        Places {
            home: self.home.clone().map(|p| p.display().to_string()),
            workspace: self.workspace.clone().map(|p| p.display().to_string()),
        }
    }

    /// How a child of this server is looked after.
    pub(crate) fn care(&self, server: &Server, generation: u64) -> Care {
        let log = self
            .state
            .as_deref()
            .map(|state| Log::new(state, &server.name, generation, Redactor::new(self, server)));
        Care { helper: self.helper.clone(), log, limit: server.supervision.spawn_timeout }
    }

    /// All variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
