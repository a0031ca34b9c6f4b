//! The configuration in use: found, read, checked. All use of `herm_core::config` is in here.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use herm_core::config::Server;
use herm_core::name::ServerName;
use herm_host::{Answerer, Setup};
use serde::Serialize;

use crate::app::Options;
use crate::command_error::{CommandError, Kind};
use crate::select;

/// A configuration file has no more bytes than this.
const MAX_FILE: u64 = 4 << 20;

/// Everything a command needs to know of the configuration.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// The file in use; none if there is no configuration.
    pub(crate) file: Option<PathBuf>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) errors: Vec<Issue>,
    pub(crate) warnings: Vec<Issue>,
    /// Keys at the top of the file that are not ours.
    pub(crate) foreign: Vec<String>,
    /// The file as read, for excerpts.
    pub(crate) text: String,
    pub(crate) safe_mode: bool,
    /// Where results are saved.
    pub(crate) results: PathBuf,
    state: Option<PathBuf>,
    environment: Vec<(String, String)>,
}

/// One server of the file.
#[derive(Debug)]
pub(crate) enum Entry {
    Ready(Box<Server>),
    /// It must not run. Its name may be no valid one.
    Blocked {
        name: String,
        why: String,
    },
}

/// One error or warning.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Issue {
    pub(crate) server: Option<String>,
    pub(crate) file: String,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    pub(crate) key: Option<String>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Entry {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ready(server) => server.name.as_str(),
            Self::Blocked { name, .. } => name,
        }
    }
}

impl Settings {
    /// All configured names, in the order of the file, blocked ones too.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(Entry::name)
    }

    /// The entry of this name.
    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name() == name)
    }

    /// The servers without errors, disabled ones too.
    pub(crate) fn ready(&self) -> impl Iterator<Item = &Server> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Ready(server) => Some(&**server),
            Entry::Blocked { .. } => None,
        })
    }

    /// Servers that should answer: enabled ones, and blocked ones, which should not be silent.
    pub(crate) fn wanted(&self) -> Vec<ServerName> {
        let wanted = self.entries.iter().filter_map(|entry| match entry {
            Entry::Ready(server) => server.enabled.then(|| server.name.clone()),
            Entry::Blocked { name, .. } => name.parse().ok(),
        });
        wanted.collect()
    }

    /// What a host is made of.
    pub(crate) fn setup(&self, answerer: Answerer) -> Setup {
        let blocked = self.entries.iter().filter_map(|entry| match entry {
            Entry::Ready(_) => None,
            Entry::Blocked { name, why } => Some((name.parse().ok()?, why.clone())),
        });
        Setup {
            servers: self.ready().cloned().collect(),
            blocked: blocked.collect(),
            state: self.state.clone(),
            environment: self.environment.clone(),
            home: std::env::home_dir(),
            workspace: std::env::current_dir().ok(),
            answerer,
            safe_mode: self.safe_mode,
        }
    }

    /// What a change of the entry changes.
    pub(crate) fn fingerprint(&self, server: &Server) -> String {
        let _ = server;
        String::new()
    }

    fn says_safe_mode(&self) -> bool {
        ["HERM_SAFE_MODE", "HERMES_SAFE_MODE"].iter().any(|name| {
            let value = self.environment.iter().find(|(known, _)| known == name);
            value.is_some_and(|(_, value)| is_on(value))
        })
    }

    #[cfg(test)]
    pub(crate) fn of_names(names: &[&str]) -> Self {
        let blocked = |name: &&str| Entry::Blocked { name: (*name).to_owned(), why: String::new() };
        Self { entries: names.iter().map(blocked).collect(), ..Self::default() }
    }
}

/// One server made in code, nothing kept on disk, our environment.
pub(crate) fn of_server(server: Server, options: &Options) -> Settings {
    let mut settings = Settings { environment: environment(), ..Settings::default() };
    settings.safe_mode = options.safe_mode || settings.says_safe_mode();
    settings.entries.push(Entry::Ready(Box::new(server)));
    settings
}

/// The server of this name, or all that should answer.
pub(crate) fn chosen(
    settings: &Settings,
    name: Option<&str>,
) -> Result<Vec<ServerName>, CommandError> {
    need_some(settings)?;
    match name {
        Some(name) => Ok(vec![select::server(settings, name)?]),
        None => Ok(settings.wanted()),
    }
}

/// Refuses if there is no configuration at all.
pub(crate) fn need_some(settings: &Settings) -> Result<(), CommandError> {
    if settings.file.is_some() { Ok(()) } else { Err(nothing_configured(settings)) }
}

/// Where a configuration was looked for, what was found instead, and how to use it.
pub(crate) fn nothing_configured(settings: &Settings) -> CommandError {
    let _ = settings;
    CommandError::new(Kind::Config, "there is no configuration")
}

/// Finds and reads the configuration.
///
/// No file at the usual places is no error here: see [`Settings::file`] and [`nothing_configured`].
pub(crate) fn load(options: &Options) -> Result<Settings, CommandError> {
    let environment = environment();
    let mut settings = Settings { environment, ..Settings::default() };
    settings.safe_mode = options.safe_mode || settings.says_safe_mode();
    Ok(settings)
}

fn is_on(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// Our variables; those that are no Unicode are left out, for no template can name their value.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Opens a file for reading; says in one sentence why not.
pub(crate) fn open(file: &Path) -> Result<File, String> {
    let bad = |why: String| format!("`{}` cannot be read: {why}", file.display());
    let about = std::fs::metadata(file).map_err(|error| bad(plain(&error)))?;
    if about.is_dir() {
        return Err(bad("it is a directory".to_owned()));
    }
    if !about.is_file() {
        return Err(bad("it is no regular file".to_owned())); // a pipe could keep us waiting
    }
    File::open(file).map_err(|error| bad(plain(&error)))
}

/// Reads a file of a bearable size.
fn read(file: &Path) -> Result<Vec<u8>, CommandError> {
    let bad = |why| CommandError::new(Kind::Config, why);
    let open = open(file).map_err(bad)?;
    let too_large = || format!("`{}` has over {MAX_FILE} bytes, which is refused", file.display());
    let mut bytes = Vec::new();
    let length = open.metadata().map(|about| about.len()).unwrap_or_default();
    if length > MAX_FILE {
        return Err(bad(too_large()));
    }
    // It may grow while it is read.
    open.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| bad(format!("`{}` cannot be read: {error}", file.display())))?;
    if bytes.len() as u64 > MAX_FILE { Err(bad(too_large())) } else { Ok(bytes) }
}

/// Without the number that the standard library puts behind it.
fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(), // rare ones: what the system says is best
    }
}
