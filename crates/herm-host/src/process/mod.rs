//! Child processes: started in one function, ended as a tree.
//!
//! A child leads a process group of its own and carries a marker in its environment. A [`Tree`]
//! owns both, and when it ends or is dropped, nothing with that group or that marker is left, nor what
//! was seen below it.

#[cfg(unix)]
mod children;
#[cfg(unix)]
pub(crate) mod descendants;
#[cfg(unix)]
mod leader;
#[cfg(unix)]
mod lookup;
#[cfg(unix)]
mod remains;
#[cfg(unix)]
mod spawn;
pub(crate) mod stderr;
#[cfg(unix)]
pub(crate) mod sweep;
#[cfg(unix)]
mod tree;
#[cfg(windows)]
mod windows;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use herm_core::config::StdioTarget;

#[cfg(unix)]
pub(crate) use children::{adopt, end_inherited};
#[cfg(unix)]
pub use remains::Remains;
#[cfg(unix)]
pub(crate) use spawn::spawn;
#[cfg(unix)]
pub(crate) use tree::Tree;
#[cfg(windows)]
pub use windows::Remains;
#[cfg(windows)]
pub(crate) use windows::{Tree, spawn};

/// The variable that marks a child and all that descends from it; its value is random for each
/// spawn.
pub(crate) const MARKER: &str = "HERM_CHILD";

/// Everything that starts one child. Made by the screen and env gates only.
#[derive(Debug)]
pub(crate) struct SpawnPlan {
    /// What to start.
    pub(crate) target: StdioTarget,
    /// The whole environment of the child, PATH among it.
    pub(crate) environment: BTreeMap<String, herm_core::secret::Secret>,
    /// Our home folder, for `~`-less lookups such as `<home>/node/bin`.
    pub(crate) home: Option<PathBuf>,
    /// How it is looked after.
    pub(crate) care: Care,
}

/// What a host does for a child beside starting it.
#[derive(Clone, Debug)]
pub(crate) struct Care {
    /// The helper program that guards it.
    pub(crate) helper: Option<PathBuf>,
    /// Where its standard error is kept.
    pub(crate) log: Option<stderr::Log>,
    /// How long the start as such may take.
    pub(crate) limit: Duration,
}

/// A child that runs. Dropping it ends the whole tree.
#[derive(Debug)]
pub(crate) struct Spawned {
    /// Its standard input.
    pub(crate) stdin: tokio::process::ChildStdin,
    /// Its standard output.
    pub(crate) stdout: tokio::process::ChildStdout,
    /// Its standard error, drained from now on.
    pub(crate) stderr: stderr::Drain,
    /// The process and its descendants.
    pub(crate) tree: Tree,
}

/// How a child ended. Both are `None` if somebody else reaped it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Exit {
    /// Its exit code.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
}

/// Resident memory of a process, in bytes, where the system tells it.
pub(crate) fn rss(pid: u32) -> Option<u64> {
    // `SIZE RESIDENT …` in pages: far shorter than what is made for a person, `status`.
    let mut text = [0; 128];
    let read = std::fs::File::open(format!("/proc/{pid}/statm")).ok()?.read(&mut text).ok()?;
    let text = std::str::from_utf8(text.get(..read)?).ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests;
