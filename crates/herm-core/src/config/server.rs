//! One server, checked. Code past the check never sees a half-valid one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use litemap::LiteMap;

use super::tree::Place;
use crate::name::ServerName;
use crate::secret::Secret;

/// A string as written, in which variables may stand (`${NAME}`).
///
/// Its text may hold a secret that someone wrote out, so it does not print; see
/// [`Template::hidden`].
#[derive(Clone, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Template(pub String);

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({:?})", self.hidden())
    }
}

/// Where an entry stands, for messages that come later than the check.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The file.
    pub file: Arc<str>,
    /// The place of each text value, by its key below the entry (`env.TOKEN`, `args[0]`).
    pub fields: LiteMap<Box<str>, Place>,
}

/// One server of the configuration, every key checked and defaulted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Server {
    /// The key under `mcp_servers`.
    pub name: ServerName,
    /// `enabled`: a disabled server is never contacted unless `test` names it.
    pub enabled: bool,
    /// `required`: `serve` waits for it.
    pub required: bool,
    /// `lazy`: started by the first call.
    pub lazy: bool,
    /// How it is reached.
    pub transport: Transport,
    /// Which era is tried, and in which order.
    pub protocol: Protocol,
    /// `trust`.
    pub trust: Trust,
    /// `approve`.
    pub approve: Approve,
    /// `expose_as`: replaces the name in exposed tool names.
    pub expose_as: Option<String>,
    /// `tools.*`.
    pub tools: ToolChoice,
    /// Deadlines, and bounds on counts and sizes.
    pub limits: Limits,
    /// `keepalive_interval`, `idle_timeout_seconds`, `max_lifetime_seconds`.
    pub upkeep: Upkeep,
    /// `breaker.*`.
    pub breaker: Breaker,
    /// `supervision.*`.
    pub supervision: Supervision,
    /// `auth`, as written: `oauth` or nothing here; the authorization issue reads more.
    pub auth: Option<String>,
    /// Where it stands; empty for a server that a program made.
    pub origin: Origin,
}

/// How a server is reached.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A child process that speaks on its standard streams.
    Stdio(Stdio),
    /// A URL.
    Http(Http),
}

/// A child process.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Stdio {
    /// The executable: a path, or a bare name that is looked up in the child's PATH.
    pub command: Template,
    /// Its arguments, source text kept.
    pub args: Vec<Template>,
    /// Variables of the entry, in the order of the file.
    pub env: Vec<(String, Template)>,
    /// Working directory.
    pub cwd: Option<Template>,
    /// Names of variables of our own environment that the child inherits.
    pub pass_env: Vec<String>,
}

/// A URL and all that a connection to it needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Http {
    /// Where the server is.
    pub url: Template,
    /// Headers of the entry, in the order of the file.
    pub headers: Vec<(String, Template)>,
    /// `transport`.
    pub kind: HttpKind,
    /// `ssl_verify`.
    pub verify: Verify,
    /// `client_cert` and `client_key`.
    pub identity: Option<Identity>,
    /// `proxy`: overrides the proxy variables of the environment.
    pub proxy: Option<Template>,
}

/// `transport` of a URL.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HttpKind {
    /// Streamable HTTP of either era, then HTTP+SSE.
    #[default]
    Auto,
    /// Streamable HTTP only.
    Streamable,
    /// HTTP+SSE of 2024-11-05 only.
    Sse,
}

/// `ssl_verify`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Verify {
    /// The platform's roots.
    #[default]
    Platform,
    /// These certificates (a PEM file) beside the platform's roots.
    Bundle(Template),
    /// None at all: the connection can be read and changed by anyone on the way.
    DangerousNone,
}

/// A client certificate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    /// PEM file with the certificate, and the key if `key` is absent.
    pub cert: Template,
    /// PEM file with the key.
    pub key: Option<Template>,
}

/// `protocol`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Protocol {
    /// `initialize` first, then `server/discover` on a definite refusal.
    #[default]
    Auto,
    /// `server/discover` first, then `initialize`.
    Stateless,
    /// `initialize` only.
    Legacy,
    /// One revision, and no other.
    Pinned(Revision),
}

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28, the stateless one
    V2026_07_28,
}

/// `trust`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Trust {
    /// Annotations of its tools are believed.
    #[default]
    Full,
    /// They are not.
    Untrusted,
}

/// `approve`, for an untrusted server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Approve {
    /// Ask for each tool without `readOnlyHint: true`.
    #[default]
    Writes,
    /// Ask for every call.
    All,
}

/// `tools.*`: which tools are offered. Patterns match raw names as fnmatch does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolChoice {
    /// Absent: all. Empty: none. Wins over `exclude`.
    pub include: Option<Vec<String>>,
    /// Left out, when `include` is absent.
    pub exclude: Vec<String>,
    /// Offer the resource utilities where the server has resources.
    pub resources: bool,
    /// Offer the prompt utilities where the server has prompts.
    pub prompts: bool,
}

impl Default for ToolChoice {
    fn default() -> Self {
        Self { include: None, exclude: Vec::new(), resources: true, prompts: true }
    }
}

/// Every wait has a deadline, every input a bound.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// `connect_timeout`: spawn, era probe and opening together.
    pub connect: Duration,
    /// `list_timeout`: one whole drain of all lists.
    pub list: Duration,
    /// `start_timeout`: how long a first call waits for `ready`.
    pub start: Duration,
    /// `timeout`: a call without a word; progress extends it.
    pub call_idle: Duration,
    /// `max_timeout`: a call whatever it says.
    pub call_absolute: Duration,
    /// `queue_timeout`: a call that waits for its turn.
    pub queue: Duration,
    /// `max_concurrent_calls`.
    pub concurrent_calls: usize,
    /// `max_message_bytes`.
    pub message_bytes: usize,
    /// `max_result_chars`, applied by `serve`.
    pub result_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(60),
            list: Duration::from_secs(60),
            start: Duration::from_secs(120),
            call_idle: Duration::from_secs(300),
            call_absolute: Duration::from_secs(3600),
            queue: Duration::from_secs(30),
            concurrent_calls: 16,
            message_bytes: 16 << 20,
            result_chars: 2_000_000,
        }
    }
}

/// What keeps a running server well.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Upkeep {
    /// `keepalive_interval`.
    pub keepalive: Duration,
    /// `idle_timeout_seconds`; absent: never.
    pub idle: Option<Duration>,
    /// `max_lifetime_seconds`; absent: never.
    pub lifetime: Option<Duration>,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { keepalive: Duration::from_secs(180), idle: None, lifetime: None }
    }
}

/// `breaker.*`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Breaker {
    /// `breaker.threshold`.
    pub threshold: u32,
    /// `breaker.cooldown_seconds`.
    pub cooldown: Duration,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { threshold: 3, cooldown: Duration::from_secs(60) }
    }
}

/// `supervision.*`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Supervision {
    /// `backoff_initial`.
    pub backoff_initial: Duration,
    /// `backoff_max`.
    pub backoff_max: Duration,
    /// `park_after`.
    pub park_after: u32,
    /// `park_interval`.
    pub park_interval: Duration,
    /// `park_max`.
    pub park_max: Duration,
    /// `proof`.
    pub proof: Duration,
    /// `allowance`.
    pub allowance: u32,
    /// `allowance_refill`.
    pub allowance_refill: Duration,
    /// `allowance_earn`.
    pub allowance_earn: Duration,
    /// `probe_timeout`.
    pub probe_timeout: Duration,
    /// `spawn_timeout`.
    pub spawn_timeout: Duration,
    /// `stop_grace`: after closing stdin.
    pub stop_grace: Duration,
    /// `term_grace`: after TERM.
    pub term_grace: Duration,
}

impl Default for Supervision {
    fn default() -> Self {
        let s = Duration::from_secs;
        Self {
            backoff_initial: s(1),
            backoff_max: s(60),
            park_after: 5,
            park_interval: s(300),
            park_max: s(1800),
            proof: s(60),
            allowance: 16,
            allowance_refill: s(1800),
            allowance_earn: s(900),
            probe_timeout: s(30),
            spawn_timeout: s(10),
            stop_grace: s(2),
            term_grace: s(3),
        }
    }
}

impl Server {
    /// A server with every default, for a program that embeds herm.
    #[must_use]
    pub fn new(name: ServerName, transport: Transport) -> Self {
        Self {
            name,
            enabled: true,
            required: false,
            lazy: false,
            transport,
            protocol: Protocol::default(),
            trust: Trust::default(),
            approve: Approve::default(),
            expose_as: None,
            tools: ToolChoice::default(),
            limits: Limits::default(),
            upkeep: Upkeep::default(),
            breaker: Breaker::default(),
            supervision: Supervision::default(),
            auth: None,
            origin: Origin::default(),
        }
    }
}

/// Where a server is, every variable replaced: made anew at each connect.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Target {
    /// A child process.
    Stdio(StdioTarget),
    /// A URL.
    Http(HttpTarget),
}

/// [`Stdio`], interpolated.
///
/// Variables may have put secrets into command and arguments, so these do not print.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct StdioTarget {
    /// The executable, `~` expanded.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of the entry.
    pub env: Vec<(String, Secret)>,
    /// Working directory, `~` expanded.
    pub cwd: Option<String>,
    /// Names to inherit.
    pub pass_env: Vec<String>,
}

/// [`Http`], interpolated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HttpTarget {
    /// An `http` or `https` URL with a host. It may hold credentials.
    pub url: Secret,
    /// Headers of the entry.
    pub headers: Vec<(String, Secret)>,
    /// `transport`.
    pub kind: HttpKind,
    /// CA bundle beside the platform's roots.
    pub ca_file: Option<String>,
    /// `ssl_verify: false`.
    pub dangerous_no_verify: bool,
    /// PEM files: certificate, key.
    pub identity: Option<(String, Option<String>)>,
    /// `proxy`.
    pub proxy: Option<Secret>,
}

impl fmt::Debug for StdioTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioTarget")
            .field("args", &self.args.len())
            .field("env", &self.env)
            .field("cwd", &self.cwd)
            .field("pass_env", &self.pass_env)
            .finish_non_exhaustive()
    }
}
