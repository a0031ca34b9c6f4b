//! `cache`: what is kept of the servers' lists. Starts nothing.

use herm_core::config::Revision;
use herm_gateway::json::written;
use herm_host::{Cache, CacheEntry, Cleared};
use serde::Serialize;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::select;
use crate::settings::{self, Settings};
use crate::show::age::ago;
use crate::show::{V, probe};
use crate::ui::Ui;

/// Show or remove what is kept of the lists of servers
///
/// Every list that herm reads is kept in `catalog/` of the cache folder, so that it can be shown
/// without its server. Nothing is started or contacted.
#[derive(Debug, clap::Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CacheCommand {
    /// List what is kept, also of servers that are configured no longer
    #[command(visible_alias = "ls")]
    List,
    /// Remove what is kept of one server, or of all
    ///
    /// The next `herm tools` or `herm serve` lists a server anew; what a Hermes home keeps of it is not
    /// taken over again. A running host keeps what it holds in memory, and keeps on disk what it lists
    /// after this.
    Clear {
        /// Only of this server; without: of all
        name: Option<String>,
    },
}

#[derive(Debug, Serialize)]
struct CacheDocument {
    v: u8,
    servers: Vec<EntryDocument>,
}

#[derive(Debug, Serialize)]
struct EntryDocument {
    name: String,
    configured: bool,
    fingerprint: String,
    tools: usize,
    era: Option<&'static str>,
    protocol: String,
    generation: u64,
    listed_at: Option<String>,
    file: String,
    bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ClearedDocument {
    v: u8,
    ok: bool,
    servers: Vec<String>,
    files: Vec<FileDocument>,
}

#[derive(Debug, Serialize)]
struct FileDocument {
    file: String,
    bytes: u64,
}

pub(crate) fn run(args: &CacheArgs, context: &mut Context) -> Result<Exit, CommandError> {
    // What is kept can be looked at and removed whatever is wrong with the configuration.
    let settings = settings::load_for_hosts(&context.options)?;
    let cache = settings.cache();
    match &args.command {
        CacheCommand::List => list(&mut context.ui, &settings, &cache),
        CacheCommand::Clear { name } => clear(&mut context.ui, &settings, &cache, name.as_deref()),
    }
}

fn list(ui: &mut Ui, settings: &Settings, cache: &Cache) -> Result<Exit, CommandError> {
    let mut entries: Vec<_> =
        cache.entries().into_iter().map(|entry| document(settings, entry)).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    if ui.look.json {
        ui.json(&CacheDocument { v: V, servers: entries })?;
        return Ok(Exit::Done);
    }
    if entries.is_empty() {
        ui.note("nothing is kept")?;
        return Ok(Exit::Done);
    }
    let width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(4).max(4);
    ui.data(format_args!(
        "{:<width$}  {:<16}  {:>5}  {:<9}  {:<9}  {:>9}",
        "Name", "Fingerprint", "Tools", "Era", "Age", "Size"
    ))?;
    for entry in entries {
        let age = entry.listed_at.as_deref().and_then(ago).unwrap_or_else(|| "unknown".to_owned());
        let size = entry.bytes.map_or_else(|| "gone".to_owned(), kib);
        let unknown = if entry.configured { "" } else { "  not configured" };
        ui.data(format_args!(
            "{:<width$}  {:<16}  {:>5}  {:<9}  {age:<9}  {size:>9}{unknown}",
            entry.name,
            entry.fingerprint,
            entry.tools,
            entry.era.unwrap_or("unknown"),
        ))?;
    }
    Ok(Exit::Done)
}

fn document(settings: &Settings, entry: CacheEntry) -> EntryDocument {
    EntryDocument {
        configured: settings.entry(&entry.server).is_some(),
        era: entry.protocol.parse::<Revision>().ok().map(probe::era),
        listed_at: entry.listed_at.map(written),
        name: entry.server,
        fingerprint: entry.fingerprint,
        tools: entry.tools,
        protocol: entry.protocol,
        generation: entry.generation,
        file: entry.file,
        bytes: entry.bytes,
    }
}

fn clear(
    ui: &mut Ui,
    settings: &Settings,
    cache: &Cache,
    name: Option<&str>,
) -> Result<Exit, CommandError> {
    if let Some(name) = name.filter(|name| settings.entry(name).is_none()) {
        let entries = cache.entries();
        let kept: Vec<&str> = entries.iter().map(|entry| entry.server.as_str()).collect();
        if !kept.contains(&name) {
            return Err(select::unknown_beside(settings, &kept, name));
        }
    }
    let cleared = cache.clear(name).map_err(|error| {
        let why = format!("what is kept could not be removed: {error}");
        CommandError::new(Kind::Internal, why)
    })?;
    if ui.look.json {
        let Cleared { servers, files } = cleared;
        let files = files.into_iter().map(|(file, bytes)| FileDocument { file, bytes }).collect();
        ui.json(&ClearedDocument { v: V, ok: true, servers, files })?;
        return Ok(Exit::Done);
    }
    let of = name.map(|name| format!(" of `{name}`")).unwrap_or_default();
    if cleared.servers.is_empty() && cleared.files.is_empty() {
        ui.note(format_args!("nothing was kept{of}"))?;
        return Ok(Exit::Done);
    }
    let bytes = cleared.files.iter().map(|(_, bytes)| bytes).sum();
    let files = match cleared.files.len() {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let servers = cleared.servers.join(", ");
    ui.data(format_args!("removed what was kept of {servers}: {files}, {}", kib(bytes)))?;
    Ok(Exit::Done)
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}
