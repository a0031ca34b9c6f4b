//! Why a command failed: one type, one table of exit codes, one function that says it.

use std::io;
use std::process::ExitCode;

use herm_gateway::json::{Asked, Failure as GatewayFailure};
use herm_host::{Cause, Kind as HostKind, LinkError, Refusal};
use serde::Serialize;

use crate::arguments::BadArgument;
use crate::ui::Ui;

/// Kinds of failure. They decide the exit code and `kind` in JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Usage,
    Config,
    NotFound,
    Refused,
    Timeout,
    LoginNeeded,
    Unavailable,
    OutcomeUnknown,
    Protocol,
    Internal,
    /// By SIGINT.
    Interrupted,
    /// By SIGTERM; `interrupted` in JSON.
    Terminated,
    /// Whoever read our output went away: a quiet end.
    BrokenPipe,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Config => "config",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::LoginNeeded => "login_needed",
            Self::Unavailable => "unavailable",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Protocol => "protocol",
            Self::Internal | Self::BrokenPipe => "internal",
            Self::Interrupted | Self::Terminated => "interrupted",
        }
    }

    /// The kind that [`Self::as_str`] writes; one that a newer herm may add is a fault.
    pub(crate) fn of_word(word: &str) -> Self {
        let all = [
            Self::Usage,
            Self::Config,
            Self::NotFound,
            Self::Refused,
            Self::Timeout,
            Self::LoginNeeded,
            Self::Unavailable,
            Self::OutcomeUnknown,
            Self::Protocol,
            Self::Interrupted,
        ];
        all.into_iter().find(|kind| kind.as_str() == word).unwrap_or(Self::Internal)
    }

    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Protocol | Self::OutcomeUnknown => 1,
            Self::Usage | Self::Config => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::Timeout => 5,
            Self::LoginNeeded => 6,
            Self::Unavailable => 7,
            Self::Internal => 70,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

/// How a command ended that has said all there is to say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// All went well.
    Done,
    /// A tool's `isError`, a failed test.
    Failed,
    /// The configuration has errors.
    Faulty,
    /// A server did not answer.
    Unavailable,
    /// The one server that was named did not answer, for this reason.
    Refused(Kind),
}

impl Exit {
    /// How a listing ended in which these servers did not answer: one that was asked for by name
    /// alone ends as a call of it would.
    pub(crate) fn of_listing(named: bool, mut missing: impl Iterator<Item = Kind>) -> Self {
        match missing.next() {
            None => Self::Done,
            Some(kind) if named => Self::Refused(kind),
            Some(_) => Self::Unavailable,
        }
    }

    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Faulty => 2,
            Self::Unavailable => 7,
            Self::Refused(kind) => kind.exit_code(),
        })
    }
}

/// A command that failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: Kind,
    /// One sentence, what happened.
    pub(crate) error: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// Boxed, so that results stay small.
    about: Box<About>,
}

/// What a failure is about.
#[derive(Debug, Default)]
struct About {
    server: Option<String>,
    tool: Option<String>,
    retry_after_ms: Option<u64>,
    /// Last lines of the standard error of a server that ended.
    stderr: Option<String>,
    /// Servers that were asked first and did not answer.
    missing: Vec<Asked>,
}

impl CommandError {
    pub(crate) fn new(kind: Kind, error: impl Into<String>) -> Self {
        Self { kind, error: error.into(), hint: None, about: Box::default() }
    }

    pub(crate) fn usage(error: impl Into<String>) -> Self {
        Self::new(Kind::Usage, error)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn server(mut self, server: &str) -> Self {
        self.about.server = Some(server.to_owned());
        self
    }

    pub(crate) fn tool(mut self, tool: impl Into<String>) -> Self {
        self.about.tool = Some(tool.into());
        self
    }

    /// Says it: the sentence to standard error, with `--json` the document to standard output.
    /// Gives the exit code.
    pub(crate) fn report(&self, ui: &mut Ui) -> ExitCode {
        // A stream that is gone cannot be told about: the exit code still says it all.
        drop(self.say(ui));
        ExitCode::from(self.kind.exit_code())
    }

    fn say(&self, ui: &mut Ui) -> io::Result<()> {
        if self.kind == Kind::BrokenPipe {
            return Ok(());
        }
        if ui.look.json {
            ui.json(&Failure { v: 1, error: self.document() })?;
        }
        say_asked(ui, &self.about.missing)?;
        ui.error(&self.error)?;
        if let Some(stderr) = self.about.stderr.as_deref().filter(|text| !text.trim().is_empty()) {
            ui.note("last lines of the server's standard error:")?;
            for line in stderr.lines() {
                ui.note(format_args!("  | {line}"))?;
            }
        }
        if let Some(hint) = &self.hint {
            ui.hint(hint)?;
        }
        ui.flush()
    }

    /// As it stands in JSON.
    pub(crate) fn document(&self) -> ErrorDocument<'_> {
        ErrorDocument {
            kind: self.kind.as_str(),
            message: &self.error,
            server: self.about.server.as_deref(),
            tool: self.about.tool.as_deref(),
            hint: self.hint.as_deref(),
            retry_after_ms: self.about.retry_after_ms,
        }
    }
}

/// A failure as a document.
#[derive(Debug, Serialize)]
struct Failure<'a> {
    v: u8,
    error: ErrorDocument<'a>,
}

/// `error` of a failure.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorDocument<'a> {
    kind: &'static str,
    message: &'a str,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    hint: Option<&'a str>,
    retry_after_ms: Option<u64>,
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).ok();
        Self {
            kind: kind_of(&refusal),
            error: refusal.to_string(),
            hint: refusal.hint(),
            about: Box::new(About {
                server: refusal.server().map(ToString::to_string),
                tool: None,
                retry_after_ms: refusal.retry_after().and_then(millis),
                stderr: refusal.stderr().map(str::to_owned),
                missing: Vec::new(),
            }),
        }
    }
}

impl From<GatewayFailure> for CommandError {
    fn from(failure: GatewayFailure) -> Self {
        Self {
            kind: Kind::of_word(&failure.kind),
            error: failure.message,
            hint: failure.hint,
            about: Box::new(About {
                server: failure.server,
                tool: failure.tool,
                retry_after_ms: failure.retry_after_ms,
                stderr: failure.stderr,
                missing: failure.missing,
            }),
        }
    }
}

impl From<CommandError> for GatewayFailure {
    fn from(error: CommandError) -> Self {
        Self { hint: error.hint, ..Self::new(error.kind.as_str(), error.error) }
    }
}

/// Says which servers did not answer, and why.
pub(crate) fn say_asked<'a>(
    ui: &mut Ui,
    asked: impl IntoIterator<Item = &'a Asked>,
) -> io::Result<()> {
    for error in asked.into_iter().filter_map(|asked| asked.error.as_ref()) {
        ui.warn(&error.message)?;
        if let Some(hint) = &error.hint {
            ui.hint(hint)?;
        }
    }
    Ok(())
}

impl From<BadArgument> for CommandError {
    fn from(bad: BadArgument) -> Self {
        Self::usage(bad.to_string())
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::new(Kind::BrokenPipe, "the reader of the output is gone")
        } else {
            Self::new(Kind::Internal, format!("the output could not be written: {error}"))
        }
    }
}

/// The kind of a refusal of the host's.
pub(crate) fn kind_of(refusal: &Refusal) -> Kind {
    match refusal.kind() {
        HostKind::Usage => Kind::Usage,
        HostKind::Config => Kind::Config,
        HostKind::NotFound => Kind::NotFound,
        HostKind::Refused => Kind::Refused,
        HostKind::Timeout => Kind::Timeout,
        HostKind::LoginNeeded => Kind::LoginNeeded,
        HostKind::Unavailable => Kind::Unavailable,
        HostKind::OutcomeUnknown => Kind::OutcomeUnknown,
        HostKind::Protocol => Kind::Protocol,
        // `Internal`, and kinds that a newer host may add: not the user's fault.
        _ => Kind::Internal,
    }
}

/// What the link to a server met, if that is why.
pub(crate) fn link_of(refusal: &Refusal) -> Option<&LinkError> {
    match refusal {
        Refusal::Unavailable { cause: Cause::Link(link), .. }
        | Refusal::OutcomeUnknown { cause: Cause::Link(link), .. } => Some(link),
        _ => None, // no other refusal comes from a link
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandError, Failure, Kind};
    use herm_core::name::ServerName;
    use herm_host::{Cause, LinkError, Phase, Refusal};
    use std::time::Duration;

    #[test]
    fn each_kind_has_its_word_and_its_code() {
        use Kind::{
            BrokenPipe, Config, Internal, Interrupted, LoginNeeded, NotFound, OutcomeUnknown,
            Protocol, Refused, Terminated, Timeout, Unavailable, Usage,
        };
        let all = [
            Usage,
            Config,
            NotFound,
            Refused,
            Timeout,
            LoginNeeded,
            Unavailable,
            OutcomeUnknown,
            Protocol,
            Internal,
            Interrupted,
            Terminated,
            BrokenPipe,
        ];
        let table: Vec<String> =
            all.iter().map(|kind| format!("{} {}", kind.exit_code(), kind.as_str())).collect();
        insta::assert_snapshot!(table.join("\n"), @r"
        2 usage
        2 config
        3 not_found
        4 refused
        5 timeout
        6 login_needed
        7 unavailable
        1 outcome_unknown
        1 protocol
        70 internal
        130 interrupted
        143 interrupted
        0 internal
        ");
    }

    #[test]
    fn a_dead_server_says_its_last_words_and_when_to_try_again() {
        let server: ServerName = "fs".parse().unwrap();
        let error = CommandError::from(Refusal::Unavailable {
            server,
            phase: Phase::Open,
            cause: Cause::Link(LinkError::Exited {
                code: Some(1),
                signal: None,
                stderr: "no module named mcp".to_owned(),
            }),
            retry_after: Some(Duration::from_secs(2)),
        });
        assert_eq!(error.about.stderr.as_deref(), Some("no module named mcp"));
        let document = serde_json::to_string(&Failure { v: 1, error: error.document() }).unwrap();
        insta::assert_snapshot!(document, @r#"{"v":1,"error":{"kind":"unavailable","message":"MCP server 'fs' is not connected (open): the server ended with exit code 1","server":"fs","tool":null,"hint":"run the command by hand to see why it ends","retry_after_ms":2000}}"#);
    }
}
