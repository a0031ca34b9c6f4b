//! What a host is made of.

use std::ffi::OsString;
use std::path::PathBuf;

use herm_core::config::Server;
use herm_core::name::ServerName;

use crate::answer::Answerer;
use crate::context::World;
use crate::helper::Helper;
use crate::journal::LogFormat;

/// What a host is made of.
#[derive(Debug)]
pub struct Setup {
    /// Its servers, in the order of the file.
    pub servers: Vec<Server>,
    /// Servers that must not run, and why (a faulty entry, the screen gate).
    pub blocked: Vec<(ServerName, String)>,
    /// Where names, verdicts, failures and logs are kept; absent: nowhere.
    pub state: Option<PathBuf>,
    /// Where what servers offer is kept, in `catalog/`; absent, or without `state`: nowhere.
    pub cache: Option<PathBuf>,
    /// All entries of the configuration that `state` belongs to, whichever of them are in `servers`:
    /// the names of others are forgotten. Absent: nothing is, and names that this host publishes are
    /// kept for good.
    pub configured: Option<Vec<ServerName>>,
    /// The variables that configuration and children may see.
    pub environment: Vec<(String, String)>,
    /// For `${userHome}` and `~`.
    pub home: Option<PathBuf>,
    /// For `${workspaceFolder}`.
    pub workspace: Option<PathBuf>,
    /// Who answers servers when no call's caller does; what handshake-era servers are told.
    pub answerer: Answerer,
    /// Nothing is started or contacted.
    pub safe_mode: bool,
    /// The program that guards children against the host's own death.
    pub helper: Helper,
    /// How the host's log in the state folder looks.
    pub log_format: LogFormat,
    /// A server that was started, and is not `lazy`, is brought back after a loss without a call. A
    /// host that lives for one call leaves it.
    pub keep: bool,
}

impl Setup {
    /// These servers, our process's environment, nothing kept on disk.
    #[must_use]
    pub fn new(servers: Vec<Server>) -> Self {
        Self {
            servers,
            blocked: Vec::new(),
            state: None,
            cache: None,
            configured: None,
            environment: environment(),
            home: std::env::home_dir(),
            workspace: std::env::current_dir().ok(),
            answerer: Answerer::None,
            safe_mode: false,
            helper: Helper::None,
            log_format: LogFormat::Text,
            keep: true,
        }
    }
}

/// Our variables; one that is no Unicode cannot be passed on, and is left out.
fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// What a reload may change about the surroundings.
pub(crate) fn world(setup: &mut Setup) -> World {
    World {
        environment: std::mem::take(&mut setup.environment),
        home: setup.home.take(),
        workspace: setup.workspace.take(),
        order: setup.servers.iter().map(|server| server.name.clone()).collect(),
    }
}
