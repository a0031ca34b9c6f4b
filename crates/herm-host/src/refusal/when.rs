//! When it went wrong: in which phase of a start, by which deadline.

/// The phase of a start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Phase {
    /// Starting a child.
    Spawn,
    /// Reaching a URL.
    Connect,
    /// Handshake or discovery.
    Open,
    /// Reading the lists.
    List,
    /// A call.
    Call,
}

impl Phase {
    /// The name used in JSON and texts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Connect => "connect",
            Self::Open => "open",
            Self::List => "list",
            Self::Call => "call",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A named deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Deadline {
    /// `connect_timeout`: spawn, era probe, opening.
    Open,
    /// `list_timeout`.
    List,
    /// `start_timeout`, of a first call.
    Start,
    /// `timeout`: no answer and no progress.
    CallIdle,
    /// `max_timeout`, or the caller's own limit.
    CallAbsolute,
    /// `queue_timeout`.
    Queue,
    /// `supervision.probe_timeout`.
    Probe,
}

impl std::fmt::Display for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open => "connect (`connect_timeout`)",
            Self::List => "list (`list_timeout`)",
            Self::Start => "start (`start_timeout`)",
            Self::CallIdle => "call idle (`timeout`)",
            Self::CallAbsolute => "call absolute (`max_timeout` or `--timeout`)",
            Self::Queue => "queue (`queue_timeout`)",
            Self::Probe => "probe (`supervision.probe_timeout`)",
        })
    }
}
