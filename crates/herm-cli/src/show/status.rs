//! How hosts and their servers are, for a person: one glance says what is wrong, and when herm
//! tries again.

use herm_gateway::json::{Configured, HostStatus, ServerState, Status};

use super::age::{ago, until};
use crate::command_error::CommandError;
use crate::ui::{Ui, first_line, shorten_middle};

/// Reasons in the table are cut to so many characters; one server in full has all of it.
const MAX_REASON: usize = 400;

/// All hosts; `full` for one server of each with everything that is known of it.
pub(crate) fn print(ui: &mut Ui, status: &Status, full: bool) -> Result<(), CommandError> {
    if status.safe_mode {
        ui.warn("safe mode is on: no server is started or contacted")?;
    }
    for host in &status.silent {
        ui.warn(format_args!("the host {} runs and gave no answer: {}", host.pid, host.error))?;
    }
    if status.hosts.is_empty() && status.silent.is_empty() {
        ui.data("no host runs on this home")?;
        for server in &status.configured {
            remembered(ui, server)?;
        }
        ui.hint("`herm serve` starts one; `herm test` tries each server now")?;
    }
    for host in &status.hosts {
        ui.data(head(host))?;
        if let Some(why) = &host.config_error {
            ui.warn(format_args!(
                "its configuration could not be read again, the last good one is in use: {why}"
            ))?;
        }
        servers(ui, &host.servers)?;
        if full {
            for server in &host.servers {
                details(ui, server)?;
            }
        }
    }
    Ok(())
}

/// What earlier runs remember of a server that failed.
fn remembered(ui: &mut Ui, server: &Configured) -> Result<(), CommandError> {
    let Some(failures) = server.failures.filter(|failures| *failures > 0) else { return Ok(()) };
    let times = if failures == 1 { "once" } else { "in a row" };
    let count = if failures == 1 { String::new() } else { format!("{failures} times ") };
    let next = server.next_attempt_at.as_deref().and_then(until);
    let next =
        next.map(|time| format!("; not started before {time} have passed")).unwrap_or_default();
    let why = server.reason.as_deref().map(cut).unwrap_or_default();
    ui.data(format_args!("  {} failed {count}{times}: {why}{next}", server.name))?;
    Ok(())
}

fn head(host: &HostStatus) -> String {
    let since = ago(&host.since).map(|time| format!(", running for {time}")).unwrap_or_default();
    let config = host.config.as_ref().map(|file| format!(", {file}")).unwrap_or_default();
    format!("host {} (herm {}{since}{config})", host.pid, host.version)
}

/// A line for each server, and one below it for what is wrong.
pub(crate) fn servers(ui: &mut Ui, servers: &[ServerState]) -> Result<(), CommandError> {
    let width = servers.iter().map(|server| server.name.chars().count()).max().unwrap_or_default();
    for server in servers {
        ui.data(format_args!(
            "  {:<width$}  {:<11}  {}",
            server.name,
            server.state,
            brief(server)
        ))?;
        if let Some(wrong) = wrong(server) {
            ui.data(format_args!("  {:<width$}  {wrong}", ""))?;
        }
        if let Some(why) = &server.catalog_error {
            ui.data(format_args!("  {:<width$}  not kept: {}", "", cut(why)))?;
        }
    }
    Ok(())
}

/// What it offers and does.
fn brief(server: &ServerState) -> String {
    let mut parts = Vec::new();
    let known = server.tools > 0 || server.state == "ready";
    if known {
        let fresh = Some(&server.freshness).filter(|fresh| *fresh != "live");
        let fresh = fresh.map(|fresh| format!(" ({fresh})")).unwrap_or_default();
        parts.push(format!("{} tools{fresh}", server.tools));
    }
    if server.in_flight > 0 {
        parts.push(format!("{} calls run", server.in_flight));
    }
    if server.breaker != "closed" {
        let now = match server.breaker.as_str() {
            "half_open" => "one call is let through",
            _ => "calls are refused for now",
        };
        parts.push(format!("{now} (breaker {})", server.breaker));
    }
    if server.state == "idle" && server.reason.is_none() {
        parts.push("a call starts it".to_owned());
    }
    parts.join(", ")
}

/// What is wrong with a server that does not serve, and what comes next.
fn wrong(server: &ServerState) -> Option<String> {
    let healthy = matches!(server.state.as_str(), "ready" | "disabled");
    let reason = server.reason.as_ref().filter(|_| !healthy || server.breaker != "closed");
    let next = next(server);
    match (reason, next) {
        (Some(reason), next) => {
            let text = cut(&reason.text);
            let next = next.map(|next| format!("; {next}")).unwrap_or_default();
            Some(format!("{}: {text}{next}", reason.class))
        }
        (None, Some(next)) if !healthy => Some(next),
        (None, _) => None,
    }
}

/// A reason on one line: what decides often stands at its end.
fn cut(reason: &str) -> String {
    shorten_middle(&first_line(reason, usize::MAX), MAX_REASON)
}

/// When herm tries again, or who can help.
fn next(server: &ServerState) -> Option<String> {
    let name = &server.name;
    if let Some(at) = server.next_attempt_at.as_deref() {
        let time = until(at).map_or_else(|| "now".to_owned(), |time| format!("in {time}"));
        return Some(format!("next attempt {time}"));
    }
    match server.state.as_str() {
        "idle" if server.reason.is_some() => Some("the next call starts it again".to_owned()),
        "parked" | "backoff" => Some(format!("`herm restart {name}` tries now")),
        "blocked" => Some(format!("`herm check` shows the faults of `{name}`")),
        "needs_login" => Some(format!("put credentials into the entry of `{name}`")),
        _ => None, // on its way, or well
    }
}

/// Everything else that is known of one server.
fn details(ui: &mut Ui, server: &ServerState) -> Result<(), CommandError> {
    let time = |at: &str| ago(at).map(|time| format!("{at} ({time} ago)"));
    let counters = &server.counters;
    let facts = [
        ("state since", time(&server.since)),
        ("fingerprint", server.fingerprint.clone()),
        ("reason", server.reason.as_ref().map(|reason| reason.text.clone())),
        ("next attempt", server.next_attempt_at.clone()),
        (
            "protocol",
            server.protocol.as_ref().map(|spoken| {
                format!("{spoken} ({} era)", server.era.as_deref().unwrap_or("unknown"))
            }),
        ),
        ("attempts", Some(server.generation.to_string())),
        ("breaker", Some(server.breaker.clone())),
        ("last call", server.last_call_at.as_deref().and_then(time)),
        ("process", server.pid.map(|pid| pid.to_string())),
        ("memory", server.rss_bytes.map(|bytes| format!("{} KiB", bytes / 1024))),
        (
            "counters",
            Some(format!(
                "{} starts, {} losses, {} timeouts, {} late answers, {} skipped lines",
                counters.starts,
                counters.losses,
                counters.timeouts,
                counters.late_answers,
                counters.skipped_lines
            )),
        ),
        ("first skipped", server.first_skipped.clone()),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            ui.data(format_args!("    {name:<14} {fact}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{brief, cut};
    use herm_gateway::json::ServerState;

    #[test]
    fn the_end_of_a_long_reason_is_seen() {
        let long =
            format!("it cannot be used: {} the variable `TOKEN` is not set", "x ".repeat(400));
        let shown = cut(&long);
        assert_eq!(shown.chars().count(), 400);
        assert!(shown.starts_with("it cannot be used: x"), "{shown}");
        assert!(shown.ends_with("the variable `TOKEN` is not set"), "{shown}");
        assert_eq!(cut("short\nand more"), "short");
    }

    #[test]
    fn a_half_open_breaker_refuses_nothing() {
        let of = |breaker: &str| {
            let state = serde_json::json!({
                "name": "x", "state": "ready", "reason": null, "since": "2026-01-01T00:00:00Z",
                "next_attempt_at": null, "generation": 1, "breaker": breaker, "era": null,
                "protocol": null, "tools": 2, "freshness": "live", "in_flight": 0,
                "last_call_at": null, "pid": null, "rss_bytes": null, "first_skipped": null,
                "counters": {"starts": 1, "losses": 0, "skipped_lines": 0, "timeouts": 3,
                    "late_answers": 0},
            });
            brief(&serde_json::from_value::<ServerState>(state).unwrap())
        };
        assert_eq!(of("half_open"), "2 tools, one call is let through (breaker half_open)");
        assert_eq!(of("open"), "2 tools, calls are refused for now (breaker open)");
        assert_eq!(of("closed"), "2 tools");
    }
}
