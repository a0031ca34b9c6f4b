//! One entry below `mcp_servers`.

use super::block::{Block, boolean};
use super::report::Report;
use super::settings::Settings;
use super::top::{Defaults, Off};
use super::{process, url};
use crate::config::keys::{self, Effect};
use crate::config::server::{Origin, Server, Transport};
use crate::config::tree::Entry;
use crate::name::ServerName;

pub(super) fn server(entry: &Entry, defaults: &Defaults, report: &mut Report) -> Option<Server> {
    let name = match entry.key.parse::<ServerName>() {
        Ok(name) => Some(name),
        Err(error) => {
            report.error(entry.place, "", error.to_string()).hint("rename the server");
            None
        }
    };
    let Some(mapping) = entry.value.mapping() else {
        let message = format!("should be a mapping, is {}", entry.value.kind());
        report.error(entry.value.place, "", message).hint("a server needs `command` or `url`");
        return None;
    };
    let block = Block::new(mapping, "");
    block.unknown(report);
    let mut origin = Origin { file: report.file.clone(), ..Origin::default() };
    let transport = transport(entry, &block, &mut origin, report);
    if let Some(transport) = &transport {
        idle_keys(entry, &block, transport, report);
    }
    idle_blocks(&block, report);
    let stdio = matches!(transport, Some(Transport::Stdio(_)));
    let settings = Settings::read(&block, defaults, report);
    let enabled = block.flag("enabled", report).unwrap_or(true);
    let off = match defaults.off {
        Off::All => Some("mcp.client"),
        Off::Stdio if stdio => Some("mcp.stdio_servers"),
        Off::Stdio | Off::None => None,
    };
    if let (true, Some(switch)) = (enabled, off) {
        report.warn(entry.place, "", format!("is disabled, because `{switch}` is false"));
    }
    let mut server = Server::new(name?, transport?);
    server.enabled = enabled && off.is_none();
    server.origin = origin;
    settings.put(&mut server);
    Some(server)
}

fn transport(
    entry: &Entry,
    block: &Block<'_>,
    origin: &mut Origin,
    report: &mut Report,
) -> Option<Transport> {
    match (block.get("command"), block.get("url")) {
        (Some(_), None) => process::read(block, origin, report).map(Transport::Stdio),
        (None, Some(_)) => url::read(block, origin, report).map(Transport::Http),
        (Some(node), Some(_)) => {
            report
                .error(node.place, "command", "a server has either `command` or `url`, not both")
                .hint("remove one of them, or make it two servers");
            None
        }
        (None, None) => {
            report
                .error(entry.place, "", "has neither `command` nor `url`")
                .hint("`command` starts a program, `url` names a server on the network");
            None
        }
    }
}

/// One warning for keys of the other transport, one for keys that do nothing yet.
fn idle_keys(entry: &Entry, block: &Block<'_>, transport: &Transport, report: &mut Report) {
    let (other, has) = match transport {
        Transport::Stdio(_) => (Effect::Http, "command"),
        Transport::Http(_) => (Effect::Stdio, "url"),
    };
    let of = |effect: Effect| -> Vec<String> {
        let written = block.entries().iter().map(|entry| entry.key.as_str());
        let found = written.filter_map(keys::find).filter(|key| key.effect == effect);
        found.map(|key| format!("`{}`", key.path)).collect()
    };
    let (foreign, later) = (of(other), of(Effect::Later));
    if !foreign.is_empty() {
        let message = format!("without effect on a server with `{has}`: {}", foreign.join(", "));
        report.warn(entry.place, "", message);
    }
    if !later.is_empty() {
        let message = format!("has no effect yet: {}", later.join(", "));
        report.warn(entry.place, "", message);
    }
}

/// Unknown keys in the blocks that do nothing yet: a typo should not wait for the day they do.
fn idle_blocks(block: &Block<'_>, report: &mut Report) {
    for name in ["oauth", "sampling", "elicitation", "identity_header", "skills"] {
        // `sampling: false` is a way to say `enabled: false`.
        let Some(node) = block.get(name) else { continue };
        let flag = node.text().and_then(boolean).is_some();
        if !(flag && matches!(name, "sampling" | "elicitation" | "skills")) {
            block.block(name, report).unknown(report);
        }
    }
}
