//! What is asked of a host, and by whom.

use std::time::Duration;

use herm_core::name::ServerName;
use herm_core::wire::Raw;

use crate::answer::Answerer;

/// Who asks, and who may be asked back.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// For the journal; any text.
    pub id: String,
    /// With whose credentials; absent: the configuration's.
    pub principal: Option<String>,
    /// Who answers what the server asks during this call.
    pub answerer: Answerer,
}

/// One tool call.
#[derive(Debug)]
pub struct Request {
    /// Who asks.
    pub caller: Caller,
    /// Which tool.
    pub target: Target,
    /// Its arguments: a JSON object as text; sent as it is, blanks between tokens aside. An optional
    /// property that is null where the tool's schema forbids null is left out.
    pub arguments: Option<Raw>,
    /// `_meta` for the server, a JSON object.
    pub meta: Option<Raw>,
    /// A limit of the caller's own, instead of `timeout` and `max_timeout`.
    pub deadline: Option<Duration>,
    /// Where progress goes; a full channel drops.
    pub progress: Option<tokio::sync::mpsc::Sender<Progress>>,
}

impl Request {
    /// A call of a tool by its exposed name, with everything else at its default.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            caller: Caller::default(),
            target,
            arguments: None,
            meta: None,
            deadline: None,
            progress: None,
        }
    }
}

/// A tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// By its exposed name, `mcp__server__tool`.
    Exposed(String),
    /// By its server and raw name.
    Tool(ServerName, String),
}

/// A word of progress from the server.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The params of the notification, as sent.
    pub params: Raw,
}

/// How a call ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The result.
    Done(Done),
}

/// A result.
#[derive(Debug)]
pub struct Done {
    /// Who gave it.
    pub server: ServerName,
    /// Raw name of the tool.
    pub tool: String,
    /// The exposed name.
    pub name: String,
    /// The result object as the server shaped it.
    pub result: Raw,
}
