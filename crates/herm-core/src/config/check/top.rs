//! The top of a file: which servers there are, and what holds for all of them.

use std::collections::HashMap;
use std::time::Duration;

use super::block::{Block, LONGEST, boolean};
use super::entry;
use super::foreign;
use super::report::Report;
use super::settings;
use super::{Config, Configured};
use crate::config::keys::{TOP, nearest};
use crate::config::server::{Protocol, Server, Supervision};
use crate::config::tree::{Entry, Format, Mapping, Node};
use crate::name::ServerPart;

/// What holds for servers that do not say otherwise.
#[derive(Default)]
pub(super) struct Defaults {
    pub(super) protocol: Protocol,
    pub(super) supervision: Supervision,
    pub(super) call_idle: Option<Duration>,
    /// The switch of the reference system that turns this kind of server off.
    pub(super) off: Off,
}

/// Switches of the reference system that turn servers off.
#[derive(Clone, Copy, Default)]
pub(super) enum Off {
    #[default]
    None,
    /// `mcp.stdio_servers: false`
    Stdio,
    /// `mcp.client: false`
    All,
}

pub(super) fn config(root: &Node, format: Format, report: &mut Report) -> Config {
    if root.is_null() {
        return Config::default();
    }
    let Some(top) = root.mapping() else {
        let message = format!("the file should hold a mapping, it holds {}", root.kind());
        report.error(root.place, "", message).hint("servers stand under `mcp_servers:`");
        return Config { unreadable: true, ..Config::default() };
    };
    report.repeats_here(top, "");
    let found = servers(top, format);
    let foreign = others(top, found.map(|entry| entry.key.as_str()), format, report);
    let defaults = defaults(top, report);
    let no_auto_reload = !auto_reload(top, report);
    let Some(found) = found else {
        return Config { foreign, no_auto_reload, ..Config::default() };
    };
    let own = found.key == "mcp_servers";
    match found.value.mapping() {
        Some(mapping) => {
            let servers = entries(mapping, own, &defaults, report);
            Config { servers, foreign, unreadable: false, no_auto_reload }
        }
        None if found.value.is_null() => Config { foreign, no_auto_reload, ..Config::default() },
        None => {
            let message =
                format!("should be a mapping of names to servers, is {}", found.value.kind());
            report.error(found.value.place, &found.key, message);
            Config { foreign, unreadable: true, ..Config::default() }
        }
    }
}

/// The entry that holds the servers: ours, or in JSON that of another client.
fn servers(top: &Mapping, format: Format) -> Option<&Entry> {
    let names: &[&str] = match format {
        Format::Yaml => &["mcp_servers"],
        Format::Json => &["mcp_servers", "mcpServers", "servers"],
    };
    names.iter().find_map(|name| top.entries.iter().find(|entry| entry.key == *name))
}

/// Keys that are not ours, after an error for each that was probably meant to be.
fn others(
    top: &Mapping,
    servers: Option<&str>,
    format: Format,
    report: &mut Report,
) -> Vec<String> {
    const OURS: [&str; 4] = ["mcp_servers", "default_protocol", "supervision", "auto_reload"];
    // Read for a switch or two, but another program's all the same.
    const SHARED: [&str; 2] = ["mcp", "timeouts"];
    let mut foreign = Vec::new();
    for entry in &top.entries {
        let key = entry.key.as_str();
        if OURS.contains(&key) || servers == Some(key) {
            continue;
        }
        if format == Format::Yaml && is_json(key) {
            let short: String = key.chars().take(40).collect();
            report
                .error(entry.place, "", format!("`{short}` is JSON or a comment of its, no YAML"))
                .hint("save JSON under a name that ends in `.json`; a comment of YAML begins with `#`");
            continue;
        }
        let meant = nearest(key, OURS.into_iter());
        match meant.filter(|_| !SHARED.contains(&key)) {
            Some(meant) => report
                .error(entry.place, key, format!("the key `{key}` is unknown"))
                .hint(format!("did you mean `{meant}`?")),
            None => foreign.push(key.to_owned()),
        }
    }
    foreign
}

/// Whether a key that was read as YAML is what a comment of JSON made of the text behind it.
fn is_json(key: &str) -> bool {
    key.starts_with("//") || key.starts_with("/*") || key.contains(['"', '\n'])
}

fn defaults(top: &Mapping, report: &mut Report) -> Defaults {
    debug_assert!(TOP.iter().any(|key| key.path == "timeouts.mcp.tool_call"));
    let is_off =
        |key| inner(top, &["mcp", key]).and_then(|n| boolean(n.text()?.trim())) == Some(false);
    let off = match (is_off("client"), is_off("stdio_servers")) {
        (true, _) => Off::All,
        (false, true) => Off::Stdio,
        (false, false) => Off::None,
    };
    let call_idle = inner(top, &["timeouts", "mcp", "tool_call"])
        .and_then(|node| node.text()?.trim().parse::<f64>().ok())
        .filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    if let Some(node) = top.get("supervision") {
        report.repeats(node, "supervision");
    }
    let block = Block::new(top, "");
    let supervision = settings::supervision(&block, &Supervision::default(), report);
    let protocol = top
        .get("default_protocol")
        .and_then(|node| settings::protocol(node, "default_protocol", report));
    Defaults { protocol: protocol.unwrap_or_default(), supervision, call_idle, off }
}

/// Ours, else that of the reference system.
fn auto_reload(top: &Mapping, report: &mut Report) -> bool {
    let theirs = inner(top, &["mcp", "auto_reload_on_config_change"])
        .and_then(|node| boolean(node.text()?.trim()));
    Block::new(top, "").flag("auto_reload", report).or(theirs).unwrap_or(true)
}

/// A value within mappings, as far as they are there.
fn inner<'t>(top: &'t Mapping, path: &[&str]) -> Option<&'t Node> {
    let (last, blocks) = path.split_last()?;
    let mapping = blocks.iter().try_fold(top, |mapping, block| mapping.get(block)?.mapping())?;
    mapping.get(last)
}

fn entries(
    mapping: &Mapping,
    own: bool,
    defaults: &Defaults,
    report: &mut Report,
) -> Vec<Configured> {
    let mut parts: HashMap<String, String> = HashMap::new();
    let mut servers = Vec::new();
    for entry in &mapping.entries {
        report.about(Some(&entry.key));
        let before = report.count();
        for repeat in mapping.repeats.iter().filter(|repeat| repeat.key == entry.key) {
            let message = format!(
                "the server stands twice, first on line {}, column {}",
                repeat.first.line, repeat.first.column
            );
            report.error(repeat.again, "", message).hint("remove or rename one of the two");
        }
        report.repeats(&entry.value, "");
        let value =
            if own { entry.value.clone() } else { foreign::translate(&entry.value, report) };
        let server = entry::server(&Entry { value, ..entry.clone() }, defaults, report);
        if let Some(server) = &server {
            claim(server, entry, &mut parts, report);
        }
        let issues = report.since(before);
        servers.push(match server {
            Some(server) if issues.is_empty() => Configured::Ready(Box::new(server)),
            _ => Configured::Blocked { name: entry.key.clone(), issues },
        });
    }
    report.about(None);
    servers
}

/// Two servers cannot share the names of their tools: the first in the file keeps them.
fn claim(server: &Server, entry: &Entry, parts: &mut HashMap<String, String>, report: &mut Report) {
    let part = ServerPart::of(&server.name, server.expose_as.as_deref());
    let place = entry.place;
    if let Some(first) = parts.get(&part.as_str().to_ascii_lowercase()) {
        let message = format!(
            "its tools would be named `{}…` like those of the server `{first}`",
            part.prefix()
        );
        report.error(place, "", message).hint("give one of the two another name by `expose_as`");
        return;
    }
    if part.is_hashed() {
        let message = format!("its tools are named `{}…`", part.prefix());
        report
            .warn(place, "", message)
            .hint("choose a nicer name by `expose_as`, without `__` and without `_` at its end");
    }
    parts.insert(part.as_str().to_ascii_lowercase(), server.name.to_string());
}
