//! The configuration in use: found, read, checked. All use of `herm_core::config` is in here.

mod again;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use herm_core::config::{self, Configured, LocateError, Places, Server, Wanted, dotenv};
use herm_core::name::ServerName;
use herm_host::{Answerer, Cache, Helper, LogFormat, Setup};

use crate::app::Options;
use crate::command_error::{CommandError, Kind};
use crate::select;

pub(crate) use herm_core::config::Issue;

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
    /// A `.env` file that could not be read at all, and why: every secret in it is missing.
    pub(crate) no_secrets: Option<String>,
    /// The file as read, for excerpts.
    pub(crate) text: String,
    pub(crate) safe_mode: bool,
    /// Where the sockets of running hosts are.
    pub(crate) runtime: PathBuf,
    /// Where results are saved.
    pub(crate) results: PathBuf,
    /// The file is no configuration at all, so its servers are unknown.
    pub(crate) unreadable: bool,
    /// A running host looks whether these files have changed; none if it is told not to.
    pub(crate) watched: Vec<PathBuf>,
    /// Where a configuration was looked for.
    looked: PathBuf,
    /// Configurations of another program that are there instead.
    found: Vec<PathBuf>,
    state: Option<PathBuf>,
    cache: Option<PathBuf>,
    /// This is the configuration that the state belongs to (no `--config`), and all of it was read.
    whole: bool,
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

impl Entry {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ready(server) => server.name.as_str(),
            Self::Blocked { name, .. } => name,
        }
    }
}

impl Settings {
    /// Where state and logs are; none for a host without a home.
    pub(crate) fn state(&self) -> Option<&Path> {
        self.state.as_deref()
    }

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
        let all = self.names().filter_map(|name| name.parse().ok());
        Setup {
            configured: self.whole.then(|| all.collect()),
            servers: self.ready().cloned().collect(),
            blocked: blocked.collect(),
            state: self.state.clone(),
            cache: self.cache.clone(),
            environment: self.environment.clone(),
            home: std::env::home_dir(),
            workspace: std::env::current_dir().ok(),
            answerer,
            safe_mode: self.safe_mode,
            // A command lives for one answer; `serve` says otherwise.
            keep: false,
            log_format: LogFormat::Text,
            helper: Helper::CurrentExe,
        }
    }

    /// What is kept of the servers.
    pub(crate) fn cache(&self) -> Cache {
        Cache::open(self.setup(Answerer::None))
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
    let looked = settings.looked.display();
    let error = CommandError::new(Kind::Config, format!("there is no configuration at `{looked}`"));
    error.hint(match settings.found.as_slice() {
        [] => format!(
            "write `mcp_servers:` into `{looked}`, or name a file with --config; \
             `herm demo` needs none"
        ),
        [first, ..] => format!(
            "found `{0}`: use it with `herm --config {0}`, or set HERM_HOME to its folder",
            first.display()
        ),
    })
}

/// Finds and reads the configuration.
///
/// No file at the usual places is no error here: see [`Settings::file`] and [`nothing_configured`].
pub(crate) fn load(options: &Options) -> Result<Settings, CommandError> {
    let mut settings = locate(options)?;
    if options.config.is_some() || settings.looked.exists() {
        settings.read_config()?;
        settings.whole &= options.config.is_none();
    }
    Ok(settings)
}

/// The same for commands that are about running hosts: those have read a configuration of their own,
/// and say what is wrong with the file.
pub(crate) fn load_for_hosts(options: &Options) -> Result<Settings, CommandError> {
    let mut settings = locate(options)?;
    if options.config.is_some() || settings.looked.exists() {
        // What cannot be read configures nothing.
        drop(settings.read_config());
        settings.whole &= options.config.is_none();
    }
    Ok(settings)
}

/// Where everything is; nothing of the configuration is read yet.
fn locate(options: &Options) -> Result<Settings, CommandError> {
    let mut settings = Settings { environment: environment(), ..Settings::default() };
    let wanted = Wanted { config: options.config.as_deref(), profile: options.profile.as_deref() };
    let located = config::locate(&|name| settings.variable(name), wanted)?;
    for file in &located.paths.env_files {
        settings.read_env(file);
    }
    settings.watched.clone_from(&located.paths.env_files);
    settings.safe_mode = options.safe_mode || settings.says_safe_mode();
    settings.results = located.paths.results;
    settings.runtime = located.paths.runtime;
    settings.state = Some(located.paths.state);
    settings.cache = Some(located.paths.cache);
    settings.looked = located.paths.config;
    settings.found = located.candidates.into_iter().filter(|file| file.is_file()).collect();
    Ok(settings)
}

impl Settings {
    fn variable(&self, name: &str) -> Option<String> {
        let found = self.environment.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    /// The lines of the file of an issue, for an excerpt. Of a `.env` file no line is shown.
    pub(crate) fn lines_for(&self, issue: &Issue) -> &str {
        let ours = self.file.as_deref().is_some_and(|file| *file == *Path::new(&issue.file));
        if ours { &self.text } else { "" }
    }

    /// Faults that only show once variables are replaced, of the servers that are enabled or not.
    pub(crate) fn unresolved(&self, enabled: bool) -> Vec<Issue> {
        let text = |path: PathBuf| path.into_os_string().into_string().ok();
        let places = Places {
            home: std::env::home_dir().and_then(text),
            workspace: std::env::current_dir().ok().and_then(text),
        };
        let servers = self.ready().filter(|server| server.enabled == enabled);
        let faults =
            servers.filter_map(|server| server.resolve(&|name| self.variable(name), &places).err());
        faults.flatten().collect()
    }

    fn says_safe_mode(&self) -> bool {
        let on = |name| self.variable(name).is_some_and(|value| is_on(&value));
        on("HERM_SAFE_MODE") || on("HERMES_SAFE_MODE")
    }

    /// Variables of a `.env` file win over those of the environment. A missing file is none.
    fn read_env(&mut self, file: &Path) {
        if !file.exists() {
            return;
        }
        let name = file.display().to_string();
        let (pairs, issues) = match read(file) {
            Ok(bytes) => dotenv::read(&String::from_utf8_lossy(&bytes), &name),
            Err(error) => {
                self.no_secrets = Some(error.error.clone());
                let issue = Issue { file: name, message: error.error, ..Issue::default() };
                (Vec::new(), vec![issue])
            }
        };
        for (name, value) in pairs {
            self.environment.retain(|(known, _)| *known != name);
            self.environment.push((name, value.expose().to_owned()));
        }
        self.warnings.extend(issues);
    }

    fn read_config(&mut self) -> Result<(), CommandError> {
        let file = self.looked.clone();
        let bytes = read(&file)?;
        let checked = config::check(&bytes, &file.display().to_string());
        self.whole = !checked.is_bad_file();
        self.entries = checked.config.servers.into_iter().map(Entry::from).collect();
        self.foreign = checked.config.foreign;
        self.unreadable = checked.config.unreadable;
        if checked.config.no_auto_reload {
            self.watched.clear();
        } else {
            self.watched.push(file.clone());
        }
        self.errors = checked.errors;
        self.warnings.extend(checked.warnings);
        self.text = String::from_utf8(bytes).unwrap_or_default(); // junk has no lines to show
        self.file = Some(file);
        Ok(())
    }
}

impl From<Configured> for Entry {
    fn from(configured: Configured) -> Self {
        let name = configured.name().to_owned();
        match configured {
            Configured::Ready(server) => Self::Ready(server),
            Configured::Blocked { issues, .. } => Self::Blocked { name, why: faults(&issues) },
            // What a newer core may add is nothing that we could start.
            _ => Self::Blocked { name, why: "an entry that this herm cannot use".to_owned() },
        }
    }
}

/// What is wrong with one entry, in one line.
fn faults(issues: &[Issue]) -> String {
    let fault = |issue: &Issue| match &issue.key {
        Some(key) => format!("`{key}`: {}", issue.message),
        None => issue.message.clone(),
    };
    issues.iter().map(fault).collect::<Vec<_>>().join("; ")
}

impl From<LocateError> for CommandError {
    fn from(error: LocateError) -> Self {
        let kind = match error {
            LocateError::BadProfile(_) => Kind::Usage,
            _ => Kind::Config, // no home, and what a newer core may add
        };
        Self::new(kind, error.to_string())
    }
}

/// What a change of the entry changes, in sixteen characters.
pub(crate) fn fingerprint(server: &Server) -> String {
    config::fingerprint(server)
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
