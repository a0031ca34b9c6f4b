//! The host's face: start, list, call, stop.

use std::path::PathBuf;
use std::sync::Arc;

use herm_core::config::Server;
use herm_core::name::ServerName;
use herm_core::wire::Raw;

use crate::answer::Answerer;
use crate::catalogue::Catalogue;
use crate::refusal::Refusal;
use crate::request::{Caller, Outcome, Request};
use crate::status::{Probe, ServerStatus};

/// What a host is made of.
#[derive(Debug)]
pub struct Setup {
    /// Its servers, in the order of the file.
    pub servers: Vec<Server>,
    /// Servers that must not run, and why (a faulty entry, the screen gate).
    pub blocked: Vec<(ServerName, String)>,
    /// Where names and verdicts are kept; absent: nowhere.
    pub state: Option<PathBuf>,
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
}

impl Setup {
    /// These servers, our process's environment, nothing kept on disk.
    #[must_use]
    pub fn new(servers: Vec<Server>) -> Self {
        Self {
            servers,
            blocked: Vec::new(),
            state: None,
            environment: std::env::vars().collect(),
            home: std::env::home_dir(),
            workspace: std::env::current_dir().ok(),
            answerer: Answerer::None,
            safe_mode: false,
        }
    }
}

/// All servers behind one face.
#[derive(Debug)]
pub struct Host {}

impl Host {
    /// A host whose servers are started on demand: by [`Host::connect`], or by a call.
    #[must_use]
    pub fn new(_setup: Setup) -> Self {
        unimplemented!()
    }

    /// Starts these servers side by side (8 at once) and waits until each is `ready` or has failed,
    /// within its start budget. Without names: all that are enabled.
    pub async fn connect(&self, _names: &[ServerName]) -> Vec<(ServerName, Result<(), Refusal>)> {
        unimplemented!()
    }

    /// What is offered now.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        unimplemented!()
    }

    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    /// [`Refusal`]: anything but a result of the server's.
    pub async fn call(&self, _request: Request) -> Result<Outcome, Refusal> {
        unimplemented!()
    }

    /// Reads a resource; `server` absent: the first server that lists the URI, or has a template.
    /// Gives the server and the raw result.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn read(
        &self,
        _caller: Caller,
        _server: Option<&ServerName>,
        _uri: &str,
    ) -> Result<(ServerName, Raw), Refusal> {
        unimplemented!()
    }

    /// Gets a prompt; `arguments` is a JSON object of texts.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn prompt(
        &self,
        _caller: Caller,
        _server: &ServerName,
        _name: &str,
        _arguments: Option<Raw>,
    ) -> Result<Raw, Refusal> {
        unimplemented!()
    }

    /// Connects afresh to one server, a disabled one too, and says how each phase went.
    pub async fn probe(&self, _name: &ServerName) -> Probe {
        unimplemented!()
    }

    /// How each server is, in the order of the configuration.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        unimplemented!()
    }

    /// Stops every server and waits for it: no process is left.
    pub async fn stop(self) {
        unimplemented!()
    }
}
