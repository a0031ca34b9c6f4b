//! Which server a name on the command line means. Pure.

use herm_core::config::Server;
use herm_core::name::{ServerName, ServerPart};

use crate::command_error::{CommandError, Kind};
use crate::settings::{Entry, Settings};

/// Exposed names are cut to this many characters, the last nine of them a mark of their own.
const MAX_EXPOSED: usize = 64;
const KEPT_OF_A_CUT_NAME: usize = MAX_EXPOSED - 9;

/// What the name of a tool means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Owned {
    pub(crate) server: ServerName,
    /// The raw name, if it was given as `SERVER.TOOL`; else the whole is an exposed name.
    pub(crate) raw: Option<String>,
}

/// A configured name, blocked ones too.
pub(crate) fn configured(settings: &Settings, name: &str) -> Result<String, CommandError> {
    match settings.entry(name) {
        Some(entry) => Ok(entry.name().to_owned()),
        None => Err(unknown_server(settings, name)),
    }
}

/// A configured server of that name, blocked ones too.
pub(crate) fn server(settings: &Settings, name: &str) -> Result<ServerName, CommandError> {
    let name = configured(settings, name)?;
    name.parse().map_err(|error| {
        CommandError::new(Kind::Refused, format!("MCP server '{name}' is blocked: {error}"))
            .server(&name)
            .hint("`herm check` shows each error with its line")
    })
}

/// All of them, or the first name that is unknown.
pub(crate) fn servers(
    settings: &Settings,
    names: &[String],
) -> Result<Vec<ServerName>, CommandError> {
    let mut chosen = Vec::with_capacity(names.len());
    for name in names {
        let name = server(settings, name)?;
        if !chosen.contains(&name) {
            chosen.push(name);
        }
    }
    Ok(chosen)
}

pub(crate) fn unknown_server(settings: &Settings, name: &str) -> CommandError {
    unknown_beside(settings, &[], name)
}

/// The same where `others` would have done too.
pub(crate) fn unknown_beside(settings: &Settings, others: &[&str], name: &str) -> CommandError {
    let known: Vec<&str> = settings.names().collect();
    let near = nearest(name, &[&known[..], others].concat());
    let hint = match near {
        Some(near) if known.contains(&near) => {
            format!("did you mean `{near}`? `herm list` shows all servers")
        }
        Some(near) => format!("did you mean `{near}`? `herm cache list` shows what is kept"),
        None if known.is_empty() => "no servers are configured".to_owned(),
        None => format!("configured servers: {}", known.join(", ")),
    };
    CommandError::new(Kind::NotFound, format!("no server is called `{name}`"))
        .server(name)
        .hint(hint)
}

/// The server that owns a tool: `SERVER.TOOL` is cut behind the longest configured name; an exposed
/// name belongs to the server with the longest prefix.
pub(crate) fn owner(settings: &Settings, name: &str) -> Result<Owned, CommandError> {
    if let Some(owned) = by_dot(settings, name).or_else(|| by_prefix(settings, name)) {
        return Ok(owned);
    }
    let error = CommandError::new(Kind::NotFound, format!("no tool is called `{name}`"))
        .tool(name)
        .hint("`herm tools` shows what there is; a tool is named `mcp__SERVER__TOOL` or `SERVER.TOOL`");
    Err(match name.split_once('.') {
        Some((server, _)) if !name.starts_with("mcp__") && settings.entry(server).is_none() => {
            unknown_server(settings, server)
        }
        _ => error,
    })
}

/// `SERVER.NAME`, cut behind the longest configured name.
pub(crate) fn by_dot(settings: &Settings, name: &str) -> Option<Owned> {
    let rest_of =
        |server: &str| name.strip_prefix(server)?.strip_prefix('.').filter(|rest| !rest.is_empty());
    let found = settings.names().filter_map(|server| Some((server, rest_of(server)?)));
    let (server, rest) = found.max_by_key(|(server, _)| server.len())?;
    Some(Owned { server: server.parse().ok()?, raw: Some(rest.to_owned()) })
}

fn by_prefix(settings: &Settings, name: &str) -> Option<Owned> {
    let prefixes = settings.entries.iter().filter_map(|entry| match entry {
        Entry::Ready(server) => Some((server.name.clone(), prefix(server))),
        Entry::Blocked { name, .. } => {
            let server: ServerName = name.parse().ok()?;
            let prefix = ServerPart::of(&server, None).prefix();
            Some((server, prefix))
        }
    });
    let found = prefixes.filter(|(_, prefix)| begins_with(name, prefix));
    let (server, _) = found.max_by_key(|(_, prefix)| prefix.len())?;
    Some(Owned { server, raw: None })
}

fn begins_with(name: &str, prefix: &str) -> bool {
    if name.starts_with(prefix) {
        return true;
    }
    let cut = prefix.get(..KEPT_OF_A_CUT_NAME); // prefixes are ASCII
    name.len() == MAX_EXPOSED && cut.is_some_and(|start| name.starts_with(start))
}

/// What the exposed names of a server begin with.
pub(crate) fn prefix(server: &Server) -> String {
    ServerPart::of(&server.name, server.expose_as.as_deref()).prefix()
}

/// The name most like `name`, if one is like it at all.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let (distance, near) = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(name, k), *k))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.chars().count() / 4).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::{nearest, owner};
    use crate::settings::Settings;

    fn found(servers: &[&str], name: &str) -> String {
        match owner(&Settings::of_names(servers), name) {
            Ok(owned) => {
                format!("{} {}", owned.server, owned.raw.as_deref().unwrap_or("(exposed)"))
            }
            Err(error) => format!("{}: {}", error.error, error.hint.unwrap_or_default()),
        }
    }

    #[test]
    fn a_tool_name_leads_to_one_server() {
        let long = "l".repeat(64);
        let cut = format!("mcp__{}_abcdefgh", &long[..50]);
        let servers = ["fs", "fs.local", "my-api", "my", &long];
        let table = [
            ("fs.read", "fs read"),
            ("fs.local.read", "fs.local read"),
            ("fs.locale.read", "fs locale.read"),
            ("mcp__fs__read", "fs (exposed)"),
            ("mcp__my_api__list_items", "my-api (exposed)"),
            ("mcp__my__api__list", "my (exposed)"),
            (cut.as_str(), &format!("{long} (exposed)")),
        ];
        for (name, expected) in table {
            assert_eq!(found(&servers, name), expected, "{name}");
        }
        insta::assert_snapshot!(found(&servers, "fz.read"), @"no server is called `fz`: did you mean `fs`? `herm list` shows all servers");
        insta::assert_snapshot!(found(&servers, "nothing"), @"no tool is called `nothing`: `herm tools` shows what there is; a tool is named `mcp__SERVER__TOOL` or `SERVER.TOOL`");
        insta::assert_snapshot!(found(&servers, "fs."), @"no tool is called `fs.`: `herm tools` shows what there is; a tool is named `mcp__SERVER__TOOL` or `SERVER.TOOL`");
        insta::assert_snapshot!(found(&[], "a.b"), @"no server is called `a`: no servers are configured");
    }

    #[test]
    fn a_typing_error_finds_its_name() {
        assert_eq!(nearest("filesytem", &["git", "filesystem"]), Some("filesystem"));
        assert_eq!(nearest("weather", &["git", "filesystem"]), None);
    }
}
