//! The side that asks.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use super::folder::is_ours;
use super::{Envelope, MAX_ANSWER, MISDIRECTED, Nothing, ReloadAsk, encoded};
use crate::json::{
    Called, Definition, Failed, Failure, Prompted, Read, ReloadDocument, Restarted, Status,
    Stopped, Tools,
};
use crate::ops::{CallAsk, PromptAsk, ReadAsk, ToolsAsk};

/// Connecting takes no longer: the other end is on this machine.
const CONNECT: Duration = Duration::from_secs(5);
/// What needs no server is answered within this time.
const QUICK: Duration = Duration::from_secs(10);
/// Beyond what a host may take to end: its calls, then its servers.
const STOP: Duration = Duration::from_secs(60);

/// One running host.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its process.
    pub pid: u32,
    path: PathBuf,
}

/// Why a host gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It was not reached: nothing was asked.
    #[error("the host cannot be reached: {0}")]
    Away(String),
    /// It has another configuration, or not this server.
    #[error("the host is not the one for this request")]
    Misdirected,
    /// It was asked, and its answer never came.
    #[error("the host's answer was lost: {0}")]
    Lost(String),
    /// It was asked, and did not answer in time.
    #[error("the host did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// It answered with a failure.
    #[error("{}", .0.message)]
    Failed(Box<Failure>),
}

impl ClientError {
    /// As a failure of whoever asked; `uncertain` if what was asked may have happened.
    #[must_use]
    pub fn failure(self, uncertain: bool) -> Failure {
        let lost = if uncertain { "outcome_unknown" } else { "unavailable" };
        match self {
            Self::Failed(failure) => *failure,
            Self::TimedOut(_) => Failure::new("timeout", self.to_string()),
            Self::Lost(_) => Failure::new(lost, self.to_string()),
            Self::Away(_) | Self::Misdirected => Failure::new("unavailable", self.to_string()),
        }
    }
}

impl Client {
    pub(super) fn new(pid: u32, path: PathBuf) -> Self {
        Self { pid, path }
    }

    /// How it is.
    ///
    /// # Errors
    /// [`ClientError`], here and below.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.ask(Method::GET, "/v1/status", Bytes::new(), QUICK).await
    }

    /// Reads its configuration again; waits up to `wait` for servers that are started.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn reload(&self, wait: Duration) -> Result<ReloadDocument, ClientError> {
        let wait_ms = crate::json::millis(wait);
        // Servers that go are waited for, with their graces.
        self.post("/v1/reload", None, &ReloadAsk { wait_ms }, wait.saturating_add(STOP)).await
    }

    /// Starts one server again.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn restart(&self, server: &str, limit: Duration) -> Result<Restarted, ClientError> {
        let path = format!("/v1/servers/{}/restart", encoded(server));
        self.post(&path, None, &Nothing {}, limit).await
    }

    /// Ends it; back when all of its servers have ended.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn stop(&self) -> Result<Stopped, ClientError> {
        self.post("/v1/stop", None, &Nothing {}, STOP).await
    }

    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn call(
        &self,
        config: Option<&str>,
        ask: &CallAsk,
        limit: Duration,
    ) -> Result<Called, ClientError> {
        self.post("/v1/call", config, ask, limit).await
    }

    /// The definition of the tool that `ask` names.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn definition(
        &self,
        config: Option<&str>,
        ask: &CallAsk,
        limit: Duration,
    ) -> Result<Definition, ClientError> {
        self.post("/v1/definition", config, ask, limit).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn read(
        &self,
        config: Option<&str>,
        ask: &ReadAsk,
        limit: Duration,
    ) -> Result<Read, ClientError> {
        self.post("/v1/read", config, ask, limit).await
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn prompt(
        &self,
        config: Option<&str>,
        ask: &PromptAsk,
        limit: Duration,
    ) -> Result<Prompted, ClientError> {
        self.post("/v1/prompt", config, ask, limit).await
    }

    /// Lists tools.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn tools(
        &self,
        config: Option<&str>,
        ask: &ToolsAsk,
        limit: Duration,
    ) -> Result<Tools, ClientError> {
        self.post("/v1/tools", config, ask, limit).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        config: Option<&str>,
        ask: &impl Serialize,
        limit: Duration,
    ) -> Result<T, ClientError> {
        let envelope = Envelope { config: config.map(str::to_owned), ask };
        let body = serde_json::to_vec(&envelope).map_err(|e| ClientError::Away(e.to_string()))?;
        self.ask(Method::POST, path, body.into(), limit).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        limit: Duration,
    ) -> Result<T, ClientError> {
        let away = |why: String| ClientError::Away(why);
        let stream = tokio::time::timeout(CONNECT, UnixStream::connect(&self.path))
            .await
            .map_err(|_| away("it does not accept connections".to_owned()))?
            .map_err(|error| away(error.to_string()))?;
        if !is_ours(&stream) {
            return Err(away("it belongs to another user".to_owned()));
        }
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "herm")
            .header("content-type", "application/json")
            .body(Full::new(body))
            .map_err(|error| away(error.to_string()))?;
        let answered = tokio::time::timeout(limit, exchange(stream, request)).await;
        let (status, body) = answered.map_err(|_| ClientError::TimedOut(limit))??;
        judge(status, &body)
    }
}

/// One request on a connection of its own. Dropping the future closes it.
async fn exchange(
    stream: UnixStream,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), ClientError> {
    let away = |error: hyper::Error| ClientError::Away(error.to_string());
    let lost = |why: String| ClientError::Lost(why);
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(away)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let response: Response<_> =
        sender.send_request(request).await.map_err(|error| lost(error.to_string()))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    let body = body.map_err(|error| lost(error.to_string()))?.to_bytes();
    tasks.abort_all();
    Ok((status, body))
}

fn judge<T: DeserializeOwned>(status: StatusCode, body: &[u8]) -> Result<T, ClientError> {
    if status.as_u16() == MISDIRECTED {
        return Err(ClientError::Misdirected);
    }
    let unreadable = |error: serde_json::Error| {
        ClientError::Lost(format!("it cannot be read (HTTP {status}): {error}"))
    };
    if status.is_success() {
        return serde_json::from_slice(body).map_err(unreadable);
    }
    let failed: Failed = serde_json::from_slice(body).map_err(unreadable)?;
    Err(ClientError::Failed(Box::new(failed.error)))
}
