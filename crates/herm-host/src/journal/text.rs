//! From an event to a line: pure.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use herm_core::era::Wire;
use herm_core::gate::clean;
use herm_core::name::ServerName;
use jiff::Timestamp;

use super::LogFormat;
use crate::event::Event;
use crate::status::State;

/// A line, at most, in characters.
const LONGEST: usize = 2_000;
/// Lines of one kind of one server come at most this often; the others are counted.
const INTERVAL: Duration = Duration::from_secs(60);
/// Kinds that are remembered; over it, the memory starts anew.
const KINDS: usize = 4_096;

/// How grave a line is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

/// One line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Line {
    pub(super) level: Level,
    pub(super) target: &'static str,
    pub(super) server: Option<ServerName>,
    pub(super) text: String,
}

impl Line {
    fn of(level: Level, server: &ServerName, text: String) -> Self {
        Self { level, target: "herm.mcp", server: Some(server.clone()), text }
    }

    /// As it is written, with its line feed.
    pub(super) fn written(&self, at: Timestamp, format: LogFormat) -> String {
        let text = clean::line(&self.text, LONGEST);
        let level = self.level.as_str();
        match format {
            LogFormat::Text => {
                let at = at.strftime("%Y-%m-%d %H:%M:%S,%3f").to_string();
                format!("{at} {level} {}: {text}\n", self.target)
            }
            LogFormat::Json => {
                let line = serde_json::json!({
                    "time": format!("{at:.3}"),
                    "level": level,
                    "target": self.target,
                    "server": self.server.as_ref().map(ServerName::as_str),
                    "text": text,
                });
                format!("{line}\n")
            }
        }
    }
}

/// Decides which events become lines.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    last: HashMap<(ServerName, &'static str), (Instant, u64)>,
}

impl Quiet {
    /// The line of an event, if it is worth one now.
    pub(super) fn line(&mut self, event: &Event, now: Instant) -> Option<Line> {
        let mut line = line(event)?;
        let Some(server) = line.server.clone() else { return Some(line) };
        if self.last.len() >= KINDS {
            self.last.clear();
        }
        let (last, left_out) = self.last.entry((server, kind(event))).or_insert((now, 0));
        if now != *last && now.duration_since(*last) < INTERVAL {
            *left_out += 1;
            return None;
        }
        if *left_out > 0 {
            line.text = format!("{} ({left_out} more since the last such line)", line.text);
        }
        (*last, *left_out) = (now, 0);
        Some(line)
    }
}

/// Events of one kind are counted together.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Registered { .. } => "registered",
        Event::KeepaliveFailed { .. } => "keepalive",
        // Its first line, which says that a server does not connect, does not hold back this one.
        Event::State { state: State::Backoff, failures: 2.., .. } => "loop",
        Event::State { state, .. } => state.as_str(),
        Event::Skipped { .. } => "skipped",
        Event::Faulty { .. } => "faulty",
        Event::NotKept { .. } => "kept",
        Event::Started { .. } | Event::Reloaded { .. } | Event::NotReloaded { .. } => "host",
    }
}

fn line(event: &Event) -> Option<Line> {
    Some(match event {
        Event::Registered { server, wire, tools } => {
            let (wire, count, names) = (name_of(*wire), tools.len(), tools.join(", "));
            let colon = if names.is_empty() { "" } else { ": " };
            let text =
                format!("MCP server '{server}' ({wire}): registered {count} tool(s){colon}{names}");
            Line::of(Level::Info, server, text)
        }
        Event::KeepaliveFailed { server, reason } => {
            let text =
                format!("MCP server '{server}' keepalive failed, triggering reconnect: {reason}");
            Line::of(Level::Warning, server, text)
        }
        Event::State { server, state, failures, reason, next } => {
            return of_state(server, *state, *failures, reason.as_deref(), *next);
        }
        Event::Skipped { server, rule, field } => {
            let text = format!("Skipping suspicious MCP server '{server}': {rule}, {field}");
            Line::of(Level::Warning, server, text)
        }
        Event::Faulty { server, why } => {
            let text = format!("MCP server '{server}' is not started: {why}");
            Line::of(Level::Warning, server, text)
        }
        Event::NotKept { server, why } => {
            Line::of(Level::Warning, server, format!("MCP server '{server}': {why}"))
        }
        Event::Started { tools, servers, failed } => {
            let mut parts =
                vec![format!("MCP: registered {tools} tool(s) from {servers} server(s)")];
            parts.extend(failed.iter().map(|(server, why)| format!("failed: '{server}': {why}")));
            let text = parts.join("; ");
            let level = if failed.is_empty() { Level::Info } else { Level::Warning };
            Line { level, target: "herm.mcp", server: None, text }
        }
        Event::Reloaded { what } => {
            let text = format!("MCP: configuration reloaded: {what}");
            Line { level: Level::Info, target: "herm.config", server: None, text }
        }
        Event::NotReloaded { why } => {
            let text = format!("MCP: configuration not reloaded, nothing changes: {why}");
            Line { level: Level::Error, target: "herm.config", server: None, text }
        }
    })
}

fn of_state(
    server: &ServerName,
    state: State,
    failures: u32,
    reason: Option<&str>,
    next: Option<SystemTime>,
) -> Option<Line> {
    let reason = reason.unwrap_or("no reason is known");
    let next = match next {
        Some(next) => format!("next attempt at {}", clock_time(next)),
        None => "no attempt is planned".to_owned(),
    };
    let (level, text) = match state {
        State::Backoff if failures > 1 => (
            Level::Error,
            format!(
                "MCP server '{server}': reconnect loop detected ({failures} attempts), backing off, {next}: {reason}"
            ),
        ),
        State::Backoff => {
            (Level::Warning, format!("MCP server '{server}' is not connected: {reason}; {next}"))
        }
        State::Parked => (
            Level::Error,
            format!(
                "MCP server '{server}' is parked after {failures} failure(s), {next}: {reason}"
            ),
        ),
        State::NeedsLogin => {
            (Level::Warning, format!("MCP server '{server}' needs a login: {reason}"))
        }
        _ => return None, // on its way, or well: other lines say so
    };
    Some(Line::of(level, server, text))
}

fn name_of(wire: Wire) -> &'static str {
    match wire {
        Wire::Streamable => "http",
        Wire::Sse => "sse",
        _ => "stdio",
    }
}

fn clock_time(at: SystemTime) -> String {
    Timestamp::try_from(at)
        .map(|at| format!("{at:.0}"))
        .unwrap_or_else(|_| "a later time".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ServerName {
        "X".parse().unwrap()
    }

    fn backoff(failures: u32) -> Event {
        Event::State {
            server: name(),
            state: State::Backoff,
            failures,
            reason: Some("the server ended with exit code 3".to_owned()),
            next: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
        }
    }

    #[test]
    fn the_promised_lines() {
        let events = [
            Event::Registered {
                server: name(),
                wire: Wire::Stdio,
                tools: vec!["a".to_owned(), "b".to_owned()],
            },
            Event::Registered { server: name(), wire: Wire::Streamable, tools: Vec::new() },
            Event::Started {
                tools: 12,
                servers: 2,
                failed: vec![(name(), "the server ended with exit code 3 (open)".to_owned())],
            },
            Event::KeepaliveFailed {
                server: name(),
                reason: "it answered neither of two probes within 30 s".to_owned(),
            },
            backoff(1),
            backoff(4),
            Event::State {
                server: name(),
                state: State::Parked,
                failures: 5,
                reason: None,
                next: None,
            },
            Event::Skipped {
                server: name(),
                rule: "exfiltration".to_owned(),
                field: "args[1]".to_owned(),
            },
        ];
        let at: Timestamp = "2026-11-30T20:54:01.123Z".parse().unwrap();
        let lines: String =
            events.iter().filter_map(line).map(|line| line.written(at, LogFormat::Text)).collect();
        insta::assert_snapshot!(lines, @r"
        2026-11-30 20:54:01,123 INFO herm.mcp: MCP server 'X' (stdio): registered 2 tool(s): a, b
        2026-11-30 20:54:01,123 INFO herm.mcp: MCP server 'X' (http): registered 0 tool(s)
        2026-11-30 20:54:01,123 WARNING herm.mcp: MCP: registered 12 tool(s) from 2 server(s); failed: 'X': the server ended with exit code 3 (open)
        2026-11-30 20:54:01,123 WARNING herm.mcp: MCP server 'X' keepalive failed, triggering reconnect: it answered neither of two probes within 30 s
        2026-11-30 20:54:01,123 WARNING herm.mcp: MCP server 'X' is not connected: the server ended with exit code 3; next attempt at 2027-01-15T08:00:00Z
        2026-11-30 20:54:01,123 ERROR herm.mcp: MCP server 'X': reconnect loop detected (4 attempts), backing off, next attempt at 2027-01-15T08:00:00Z: the server ended with exit code 3
        2026-11-30 20:54:01,123 ERROR herm.mcp: MCP server 'X' is parked after 5 failure(s), no attempt is planned: no reason is known
        2026-11-30 20:54:01,123 WARNING herm.mcp: Skipping suspicious MCP server 'X': exfiltration, args[1]
        ");
        let json = line(&backoff(1)).unwrap().written(at, LogFormat::Json);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!({
            "time": "2026-11-30T20:54:01.123Z",
            "level": "WARNING",
            "target": "herm.mcp",
            "server": "X",
            "text": "MCP server 'X' is not connected: the server ended with exit code 3; \
                     next attempt at 2027-01-15T08:00:00Z",
        });
        assert_eq!(json, expected);
    }

    /// Ten thousand identical warnings of a parked server, and the log is useless.
    #[test]
    fn a_server_that_fails_on_and_on_gets_a_line_a_minute_with_a_count() {
        let mut quiet = Quiet::default();
        let start = tokio::time::Instant::now().into_std();
        let mut lines = Vec::new();
        for second in 0..600 {
            let now = start + Duration::from_secs(second);
            lines.extend(quiet.line(&backoff(2), now));
        }
        assert_eq!(lines.len(), 10);
        assert!(lines[1].text.ends_with("(59 more since the last such line)"), "{}", lines[1].text);
    }

    /// The first failure's line came seconds before, and the loop was not said until a minute later.
    #[test]
    fn a_reconnect_loop_is_said_when_it_begins() {
        let mut quiet = Quiet::default();
        let start = tokio::time::Instant::now().into_std();
        let lines: Vec<Line> = [1, 2, 3]
            .into_iter()
            .filter_map(|n| quiet.line(&backoff(n), start + Duration::from_secs(n.into())))
            .collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].text.contains("reconnect loop detected (2 attempts)"), "{lines:?}");
    }

    #[test]
    fn a_line_of_a_server_s_making_stays_one_line() {
        let event = Event::KeepaliveFailed { server: name(), reason: "a\nb\u{1b}[2J".repeat(900) };
        let written = line(&event).unwrap().written(Timestamp::now(), LogFormat::Text);
        assert_eq!(written.matches('\n').count(), 1);
        assert!(!written.contains('\u{1b}'));
        assert!(written.chars().count() < LONGEST + 60);
    }
}
