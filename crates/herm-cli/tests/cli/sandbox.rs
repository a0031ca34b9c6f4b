//! A folder of its own for each run, and nothing of our environment.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A cleared place to run `herm` in: `HOME` and `HERM_HOME` are folders of its own.
pub(crate) struct Sandbox {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder, variables: Vec::new() }
    }

    /// With a configuration.
    pub(crate) fn with(config: &str) -> Self {
        let sandbox = Self::new();
        sandbox.write("home/config.yaml", config.as_bytes());
        sandbox
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Runs `herm` with these words.
    pub(crate) fn output(&self, words: &[&str]) -> Output {
        self.command().args(words).output().unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "the program under test, not a server")]
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        command
            .env_clear()
            .env("HOME", self.path("me"))
            .env("HERM_HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// What a run shows, all streams and the status, with our folder as `DIR`.
    pub(crate) fn run(&self, words: &[&str]) -> String {
        self.shown(&self.output(words))
    }

    pub(crate) fn shown(&self, output: &Output) -> String {
        let mut shown = String::new();
        for (head, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                write!(shown, "--- {head}\n{}", String::from_utf8_lossy(bytes)).unwrap();
            }
        }
        let code = output.status.code().map_or("none".to_owned(), |code| code.to_string());
        write!(shown, "--- exit {code}").unwrap();
        let folder = self.folder.path().display().to_string();
        shown.replace(&folder, "DIR").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }
}
