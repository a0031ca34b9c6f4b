//! How a live probe of a server went.

use std::time::Duration;

use herm_core::config::Revision;
use herm_gateway::json::{self as documents, Age, ToolDocument};
use herm_host::{Freshness, LinkError, Listing, Probe, Refusal};
use serde::Serialize;
use serde_json::value::RawValue;

use super::items::row;
use super::{V, millis};
use crate::command_error::{CommandError, kind_of, link_of};
use crate::ui::{Mark, Ui, clean};

/// A probe, and what the server offers if it went well.
pub(crate) type Tested<'a> = (&'a Probe, Option<&'a Listing>);

/// The document of `test`.
#[derive(Debug, Serialize)]
pub(crate) struct TestDocument<'a> {
    v: u8,
    ok: bool,
    servers: Vec<ServerDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ServerDocument<'a> {
    name: &'a str,
    ok: bool,
    era: Option<&'static str>,
    protocol: Option<&'static str>,
    server_info: Option<&'a RawValue>,
    phases: Vec<PhaseDocument>,
    tools: Vec<ToolDocument>,
    skipped_lines: u64,
    first_skipped: Option<&'a str>,
    error: Option<ErrorDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct PhaseDocument {
    phase: &'static str,
    ok: bool,
    ms: u64,
}

#[derive(Debug, Serialize)]
struct ErrorDocument<'a> {
    phase: &'static str,
    kind: &'static str,
    message: String,
    hint: Option<String>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    http_status: Option<u16>,
    stderr: Option<&'a str>,
}

impl<'a> TestDocument<'a> {
    pub(crate) fn new(tested: &[Tested<'a>]) -> Self {
        let servers = tested.iter().map(|(probe, listing)| server(probe, *listing));
        Self {
            v: V,
            ok: tested.iter().all(|(p, _)| p.failed.is_none()),
            servers: servers.collect(),
        }
    }
}

fn server<'a>(probe: &'a Probe, listing: Option<&'a Listing>) -> ServerDocument<'a> {
    let failed_at = probe.failed.as_ref().map(|(phase, _)| *phase);
    let tools = listing.into_iter().flat_map(|listing| {
        let age = Age::of(listing, Freshness::Live);
        listing.own().map(move |tool| documents::tool(tool, &age, false))
    });
    ServerDocument {
        name: probe.server.as_str(),
        ok: probe.failed.is_none(),
        era: probe.revision.map(era),
        protocol: probe.revision.map(super::revision),
        server_info: probe.server_info.as_deref(),
        phases: probe
            .phases
            .iter()
            .map(|(phase, time)| PhaseDocument {
                phase: phase.as_str(),
                ok: failed_at != Some(*phase),
                ms: millis(*time),
            })
            .collect(),
        tools: tools.collect(),
        skipped_lines: probe.skipped.count,
        first_skipped: probe.skipped.first.as_deref(),
        error: probe.failed.as_ref().map(|(phase, refusal)| error(phase.as_str(), refusal)),
    }
}

fn error<'a>(phase: &'static str, refusal: &'a Refusal) -> ErrorDocument<'a> {
    let (exit_code, signal, http_status) = match (link_of(refusal), refusal) {
        (Some(LinkError::Exited { code, signal, .. }), _) => (*code, *signal, None),
        (Some(LinkError::Http { status, .. } | LinkError::Redirect { status, .. }), _)
        | (_, Refusal::LoginNeeded { status, .. }) => (None, None, Some(*status)),
        _ => (None, None, None), // nothing else has any of the three
    };
    ErrorDocument {
        phase,
        kind: kind_of(refusal).as_str(),
        message: refusal.to_string(),
        hint: refusal.hint_after_test(),
        exit_code,
        signal,
        http_status,
        stderr: refusal.stderr(),
    }
}

/// `handshake` or `stateless`.
pub(crate) fn era(revision: Revision) -> &'static str {
    if revision >= Revision::V2026_07_28 { "stateless" } else { "handshake" }
}

/// For people: each phase, then the tools, or why not.
pub(crate) fn print(ui: &mut Ui, (probe, listing): Tested<'_>) -> Result<(), CommandError> {
    ui.data(format_args!("Testing '{}'", probe.server))?;
    for (phase, time) in &probe.phases {
        let failed = probe.failed.as_ref().is_some_and(|(at, _)| at == phase);
        let mark = if failed { Mark::Bad } else { Mark::Good };
        ui.marked(
            mark,
            format_args!(
                "{:<8}{} ms{}",
                phase.as_str(),
                millis(*time),
                with(probe, phase.as_str())
            ),
        )?;
    }
    match &probe.failed {
        Some((_, refusal)) => print_failure(ui, refusal)?,
        None => print_tools(ui, probe, listing)?,
    }
    if probe.skipped.count > 0 {
        let first = probe.skipped.first.as_deref().map(clean).unwrap_or_default();
        ui.data(format_args!(
            "  {} lines were no message, the first: {first}",
            probe.skipped.count
        ))?;
    }
    Ok(())
}

/// What the opening found out.
fn with(probe: &Probe, phase: &str) -> String {
    match probe.revision.filter(|_| phase == "open") {
        Some(revision) => format!("  {} era, {}", era(revision), super::revision(revision)),
        None => String::new(),
    }
}

fn print_failure(ui: &mut Ui, refusal: &Refusal) -> Result<(), CommandError> {
    ui.marked(Mark::Bad, refusal)?;
    if let Some(stderr) = refusal.stderr().filter(|text| !text.trim().is_empty()) {
        ui.data("    last lines of its standard error:")?;
        for line in stderr.lines() {
            ui.data(format_args!("    | {line}"))?;
        }
    }
    match refusal.hint_after_test() {
        Some(hint) => Ok(ui.data(format_args!("    hint: {hint}"))?),
        None => Ok(()),
    }
}

fn print_tools(ui: &mut Ui, probe: &Probe, listing: Option<&Listing>) -> Result<(), CommandError> {
    let total: Duration = probe.phases.iter().map(|(_, time)| *time).sum();
    ui.marked(Mark::Good, format_args!("Connected ({} ms)", millis(total)))?;
    let Some(listing) = listing else { return Ok(()) };
    ui.marked(Mark::Good, format_args!("Tools discovered: {}", listing.known))?;
    for tool in listing.own() {
        ui.data(format_args!("    {}", row(&tool.view.name, tool.view.description.as_deref())))?;
    }
    if !listing.hidden.is_empty() {
        ui.data(format_args!("  {} not offered:", listing.hidden.len()))?;
    }
    for hidden in &listing.hidden {
        ui.data(format_args!("    {}: {}", hidden.tool, hidden.reason))?;
    }
    for warning in &listing.warnings {
        ui.warn(warning)?;
    }
    Ok(())
}
