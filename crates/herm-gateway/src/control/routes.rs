//! What is answered to which request.

use std::time::Duration;

use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::{Envelope, Nothing, ReloadAsk, decoded};
use crate::gate::Gate;
use crate::json::status::written;
use crate::json::{
    Asked, AskedError, Failure, HostStatus, ReloadDocument, Restarted, ServerState, Status,
    Stopped, V, millis,
};
use crate::ops::{self, CallAsk, PromptAsk, ReadAsk, ToolsAsk};
use herm_core::name::ServerName;
use herm_host::{Caller, Refusal, Reloaded};

/// Nobody waits longer for a reload, whatever was asked for.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// Bytes of the JSON of one server's state, some.
const A_STATE: usize = 700;

/// Why there is no document.
#[derive(Debug)]
pub(super) enum Refused {
    /// This host is not the one to ask.
    Misdirected(Box<Failure>),
    /// Asked, and failed.
    Failed(Box<Failure>),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<Box<Failure>> for Refused {
    fn from(failure: Box<Failure>) -> Self {
        Self::Failed(failure)
    }
}

pub(super) fn usage(why: String) -> Failure {
    Failure::new("usage", why)
}

/// The document, as JSON.
pub(super) async fn answer(
    gate: &Gate,
    method: &Method,
    path: &str,
    body: &[u8],
) -> Result<Vec<u8>, Refused> {
    let post = match (method.as_str(), path) {
        ("GET", "/v1/status") => {
            let status = status(gate);
            let servers: usize = status.hosts.iter().map(|host| host.servers.len()).sum();
            return json_of(&status, 1_024 + servers * A_STATE);
        }
        ("POST", path) => path,
        _ => return Err(Failure::new("not_found", format!("nothing at `{method} {path}`")).into()),
    };
    // Told apart from the rest: it ends when all the others have.
    if post == "/v1/stop" {
        return json(&stop(gate).await);
    }
    // Boxed: a request is as large as the largest of these.
    gate.requests.track_future(Box::pin(asked(gate, post, body))).await
}

async fn asked(gate: &Gate, path: &str, body: &[u8]) -> Result<Vec<u8>, Refused> {
    let host = &gate.host;
    match path {
        "/v1/call" => {
            let ask = read(gate, body, |ask: &CallAsk| vec![ask.server.clone()])?;
            json(&ops::call(host, caller(), ask, None).await?)
        }
        "/v1/definition" => {
            let ask = read(gate, body, |ask: &CallAsk| vec![ask.server.clone()])?;
            json(&ops::definition(host, &ask).await?)
        }
        "/v1/read" => {
            let ask = read(gate, body, |ask: &ReadAsk| match &ask.server {
                Some(server) => vec![server.clone()],
                None => ask.servers.clone(),
            })?;
            json(&ops::read(host, caller(), ask).await?)
        }
        "/v1/prompt" => {
            let ask = read(gate, body, |ask: &PromptAsk| vec![ask.server.clone()])?;
            json(&ops::prompt(host, caller(), ask).await?)
        }
        "/v1/tools" => {
            let ask = read(gate, body, |ask: &ToolsAsk| ask.servers.clone())?;
            json(&ops::tools(host, &ask).await?)
        }
        "/v1/reload" => {
            let ask = read(gate, body, |_: &ReloadAsk| Vec::new())?;
            json(&reload(gate, Duration::from_millis(ask.wait_ms).min(MAX_WAIT)).await?)
        }
        _ => {
            let name = path.strip_prefix("/v1/servers/").and_then(|p| p.strip_suffix("/restart"));
            let nothing = || Failure::new("not_found", format!("nothing at `POST {path}`"));
            let name = name.and_then(decoded).ok_or_else(nothing)?;
            read(gate, body, |_: &Nothing| Vec::new())?;
            json(&restart(gate, &name).await?)
        }
    }
}

/// What is asked, if this host is the one to ask; `servers` are those that it concerns.
fn read<T: DeserializeOwned>(
    gate: &Gate,
    body: &[u8],
    servers: impl FnOnce(&T) -> Vec<String>,
) -> Result<T, Refused> {
    let envelope: Envelope<T> = serde_json::from_slice(body)
        .map_err(|error| usage(format!("the body is not what was expected: {error}")))?;
    let ours = gate.config.as_ref().map(|path| path.display().to_string());
    let servers = ops::servers(&servers(&envelope.ask))?;
    if envelope.config.is_some_and(|config| Some(config) != ours) || !gate.has(&servers) {
        let why = Failure::new("unavailable", "this host has another configuration");
        return Err(Refused::Misdirected(Box::new(why)));
    }
    Ok(envelope.ask)
}

fn json(document: &impl Serialize) -> Result<Vec<u8>, Refused> {
    json_of(document, 0)
}

/// A document that has some so many bytes: one that grows costs a large host twice its size.
fn json_of(document: &impl Serialize, room: usize) -> Result<Vec<u8>, Refused> {
    let mut json = Vec::with_capacity(room);
    let written = serde_json::to_writer(&mut json, document);
    written.map(|()| json).map_err(|e| Failure::new("internal", e.to_string()).into())
}

/// Whoever asks over the socket; nobody there can answer questions of servers.
fn caller() -> Caller {
    Caller { id: "control".to_owned(), ..Caller::default() }
}

fn status(gate: &Gate) -> Status {
    let host = HostStatus {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        since: written(gate.since),
        config: gate.config.as_ref().map(|path| path.display().to_string()),
        config_error: gate.broken(),
        servers: states(gate),
    };
    let safe_mode = gate.host.is_safe_mode();
    Status { v: V, safe_mode, hosts: vec![host], silent: Vec::new(), configured: Vec::new() }
}

fn states(gate: &Gate) -> Vec<ServerState> {
    gate.host.status_as(|status| ServerState::from(&status))
}

async fn reload(gate: &Gate, wait: Duration) -> Result<ReloadDocument, Failure> {
    let Reloaded { stopped, started, updated, unchanged, failed, blocked } =
        gate.reload(wait).await?;
    let texts = |names: Vec<ServerName>| names.iter().map(ToString::to_string).collect();
    Ok(ReloadDocument {
        v: V,
        ok: failed.is_empty() && blocked.is_empty(),
        pid: std::process::id(),
        stopped: texts(stopped),
        started: texts(started),
        updated: texts(updated),
        unchanged: texts(unchanged),
        failed: failed.iter().map(missing).collect(),
        blocked: blocked.iter().map(missing).collect(),
        servers: states(gate),
    })
}

fn missing((name, refusal): &(ServerName, Refusal)) -> Asked {
    let (name, error) = (name.to_string(), Some(AskedError::from(refusal)));
    Asked { name, ok: false, error, warnings: Vec::new() }
}

async fn restart(gate: &Gate, name: &str) -> Result<Restarted, Failure> {
    let server: ServerName = name.parse().map_err(|error| {
        Failure::new("not_found", format!("no server can be called `{name}`: {error}"))
    })?;
    let started = Instant::now();
    gate.host.restart(&server).await?;
    let state = gate.host.status().into_iter().find(|status| status.name == server);
    let state = state.ok_or_else(|| Failure::new("internal", "the server is gone"))?;
    Ok(Restarted {
        v: V,
        ok: true,
        pid: std::process::id(),
        ms: millis(started.elapsed()),
        server: ServerState::from(&state),
    })
}

/// Answered when every server has ended.
async fn stop(gate: &Gate) -> Stopped {
    gate.stop();
    gate.ended().await;
    Stopped { v: V, ok: true, pid: std::process::id() }
}
