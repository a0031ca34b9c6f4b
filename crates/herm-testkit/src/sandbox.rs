//! A home of its own for each test, and the programs that the tests start.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A temporary home, removed on drop. What is started in it sees no configuration, credentials or
/// variables of the person who runs the tests.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
}

impl Sandbox {
    /// An empty home. Panics where the temporary folder cannot be written.
    #[must_use]
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("herm-test-").tempdir();
        let root = root.unwrap_or_else(|e| panic!("cannot create a temporary folder: {e}"));
        let sandbox = Self { root };
        for folder in ["herm", "tmp"] {
            let path = sandbox.root.path().join(folder);
            fs::create_dir(&path)
                .unwrap_or_else(|e| panic!("cannot create `{}`: {e}", path.display()));
        }
        sandbox
    }

    /// `HOME` and working directory of what is started here.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// `HERM_HOME`: holds `config.yaml`, `.env` and herm's state.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.path().join("herm")
    }

    /// Writes `text` to `path` below [`Self::root`], folders included, and gives the full path.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let full = self.root.path().join(path);
        let folder = full.parent().unwrap_or_else(|| self.root.path());
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&full, text));
        written.unwrap_or_else(|e| panic!("cannot write `{}`: {e}", full.display()));
        full
    }

    /// Writes `config.yaml` of the home.
    pub fn config(&self, yaml: &str) -> PathBuf {
        self.write("herm/config.yaml", yaml)
    }

    /// `program`, to be run in [`Self::root`] with nothing of our environment but `PATH`.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "tests start programs themselves; no gate is passed by"
    )]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root())
            .env("HERM_HOME", self.home())
            .env("TMPDIR", self.root().join("tmp"))
            .env("LANG", "C.UTF-8")
            .current_dir(self.root());
        command
    }

    /// The `herm` of this build, in this home.
    #[must_use]
    pub fn herm(&self) -> Command {
        self.command(binary("herm"))
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

/// A program of this workspace, from the profile that the running test was built in.
///
/// Cargo builds a test's own programs only, not those of other crates, so a missing one panics with
/// the command that builds it.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let path = profile_folder().join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        let profile = profile_folder().file_name().map(|n| n.to_string_lossy().into_owned());
        let profile = match profile.as_deref() {
            Some("debug") | None => "dev".to_owned(),
            Some(other) => other.to_owned(),
        };
        panic!(
            "no `{}`; build it with `cargo build --profile {profile} --workspace --bins`",
            path.display()
        );
    }
    path
}

/// `target/PROFILE` of the running test.
pub(crate) fn profile_folder() -> PathBuf {
    let own =
        std::env::current_exe().unwrap_or_else(|e| panic!("cannot find the running test: {e}"));
    let folder = own.parent().unwrap_or(Path::new("."));
    // Tests lie in `deps` (and benches), examples in `examples`, programs in the folder itself.
    let nested = folder.ends_with("deps") || folder.ends_with("examples");
    let profile = if nested { folder.parent().unwrap_or(folder) } else { folder };
    profile.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Sandbox, binary};

    #[test]
    fn only_path_and_homes_reach_a_program() {
        let sandbox = Sandbox::new();
        let output = sandbox.command("env").output().expect("`env` runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut names: Vec<&str> =
            text.lines().filter_map(|l| l.split_once('=')).map(|l| l.0).collect();
        names.sort_unstable();
        assert_eq!(names, ["HERM_HOME", "HOME", "LANG", "PATH", "TMPDIR"]);
    }

    #[test]
    fn home_is_gone_after_the_test() {
        let sandbox = Sandbox::new();
        let path = sandbox.config("mcp_servers: {}\n");
        assert!(path.starts_with(sandbox.home()));
        drop(sandbox);
        assert!(!path.exists());
    }

    #[test]
    #[should_panic(expected = "--workspace --bins")]
    fn missing_program_says_how_to_build_it() {
        let _path = binary("herm-of-nowhere");
    }
}
