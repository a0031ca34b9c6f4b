//! `logs`: what a host has written down, and what its servers have said on standard error.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use herm_core::gate::clean;
use herm_core::name::ServerName;
use serde::Serialize;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::select;
use crate::session::Signals;
use crate::settings::{self, Settings};
use crate::show::V;
use crate::ui::{Ui, shorten};

/// So much of the end of a file is looked at, in bytes.
const END: u64 = 1 << 20;
/// How often a followed file is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// So much of a followed file is read at once, in bytes.
const AT_ONCE: u64 = 1 << 20;
/// A line, at most, in characters.
const LONGEST: usize = 4_000;

/// Show the host's log, or what a server wrote to its standard error
#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    /// The standard error of this server; without: the host's log
    name: Option<String>,
    /// The standard errors of all servers, each line with its server's name
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Go on as more comes, until interrupted
    #[arg(long, short)]
    follow: bool,
    /// So many of the last lines of each file
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200)]
    lines: usize,
}

pub(crate) async fn run(args: &LogsArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = settings::load_for_hosts(&context.options)?;
    let mut files = files(args, &settings)?;
    let ui = &mut context.ui;
    if ui.look.json {
        return documents(ui, args, &mut files);
    }
    let mut any = false;
    for file in &mut files {
        for line in file.last(args.lines) {
            file.print(ui, &line)?;
            any = true;
        }
    }
    if !any && !args.follow && args.lines > 0 {
        let where_ = files.first().map(|file| file.path.display().to_string()).unwrap_or_default();
        ui.note(format_args!("nothing is written there yet: {where_}"))?;
    }
    if args.follow {
        follow(ui, &mut files).await?;
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Document {
    v: u8,
    files: Vec<LogDocument>,
}

#[derive(Serialize)]
struct LogDocument {
    /// The server; none for the host's log.
    server: Option<String>,
    path: String,
    lines: Vec<String>,
}

/// All files as one document.
fn documents(ui: &mut Ui, args: &LogsArgs, files: &mut [Shown]) -> Result<Exit, CommandError> {
    if args.follow {
        return Err(CommandError::new(
            Kind::Usage,
            "what is followed has no end, and so is no document",
        )
        .hint("leave out --follow or --json; `herm serve --log-format json` writes JSON lines"));
    }
    let of = |file: &mut Shown| LogDocument {
        server: file.server.clone(),
        path: file.path.display().to_string(),
        lines: file.last(args.lines),
    };
    ui.json(&Document { v: V, files: files.iter_mut().map(of).collect() })?;
    Ok(Exit::Done)
}

/// One file that is shown.
struct Shown {
    /// Whose it is; none for the host's log.
    server: Option<String>,
    path: PathBuf,
    /// Stands before each line.
    prefix: Option<String>,
    /// What was read of it: from where on it goes, and which file it was.
    at: u64,
    inode: Option<u64>,
    /// A line that has no end yet.
    rest: Vec<u8>,
}

fn files(args: &LogsArgs, settings: &Settings) -> Result<Vec<Shown>, CommandError> {
    let Some(state) = settings.state() else {
        return Err(CommandError::new(Kind::Config, "there is no state folder"));
    };
    let logs = state.join("logs");
    let of = |name: &str, prefix: Option<String>| Shown {
        server: Some(name.to_owned()),
        path: logs.join("mcp-stderr").join(format!("{name}.log")),
        prefix,
        at: 0,
        inode: None,
        rest: Vec::new(),
    };
    if args.all {
        let width = settings.names().map(|name| name.chars().count()).max().unwrap_or_default();
        let prefixed = |name: &str| of(name, Some(format!("{name:<width$} | ")));
        let valid = settings.names().filter(|name| name.parse::<ServerName>().is_ok());
        return Ok(valid.map(prefixed).collect());
    }
    Ok(vec![match &args.name {
        // A valid name: it becomes part of a path.
        Some(name) => of(select::server(settings, name)?.as_str(), None),
        None => Shown { server: None, path: logs.join("herm.log"), ..of("", None) },
    }])
}

async fn follow(ui: &mut Ui, files: &mut [Shown]) -> Result<(), CommandError> {
    let mut signals = Signals::new()?;
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            // Interrupted is how a follow ends: no failure.
            _ = signals.next() => return Ok(()),
        }
        for file in files.iter_mut() {
            for line in file.more() {
                file.print(ui, &line)?;
            }
        }
        ui.flush()?; // whoever follows wants it now
    }
}

impl Shown {
    /// The last lines, and from here on what comes after them.
    fn last(&mut self, count: usize) -> Vec<String> {
        let Some((mut file, length, inode)) = open(&self.path) else { return Vec::new() };
        let from = length.saturating_sub(END);
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(from))
            .and_then(|_| file.by_ref().take(END).read_to_end(&mut bytes));
        if read.is_err() {
            return Vec::new(); // as if there were none
        }
        self.at = from + bytes.len() as u64;
        self.inode = Some(inode);
        if from > 0 {
            // A line that was cut is none.
            let start = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes.drain(..start);
        }
        let lines = self.whole(bytes);
        let skip = lines.len().saturating_sub(count);
        lines.into_iter().skip(skip).collect()
    }

    /// What came since; from its beginning if it is another file now.
    fn more(&mut self) -> Vec<String> {
        let Some((mut file, length, inode)) = open(&self.path) else { return Vec::new() };
        if self.inode != Some(inode) || length < self.at {
            self.at = 0;
            self.inode = Some(inode);
            self.rest.clear();
        }
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(self.at))
            .and_then(|_| file.by_ref().take(AT_ONCE).read_to_end(&mut bytes));
        if read.is_err() {
            return Vec::new(); // it is looked at again
        }
        self.at += bytes.len() as u64;
        self.whole(bytes)
    }

    /// Whole lines as they were written, their indentation too, without anything that a terminal
    /// would obey.
    fn whole(&mut self, bytes: Vec<u8>) -> Vec<String> {
        self.rest.extend(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let text = String::from_utf8_lossy(&whole);
        text.lines().map(|line| shorten(clean::text(line).trim_end(), LONGEST)).collect()
    }

    fn print(&self, ui: &mut Ui, line: &str) -> Result<(), CommandError> {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        Ok(ui.data(format_args!("{prefix}{line}"))?)
    }
}

/// A regular file, its length, and what tells it from another of its name.
fn open(path: &Path) -> Option<(File, u64, u64)> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let found = file.metadata().ok()?;
    Some((file, found.len(), std::os::unix::fs::MetadataExt::ino(&found)))
}
