//! The helper: a program that guards the children of a host against the host's own death.
//!
//! It plays two parts, each behind a hidden first argument. The *launcher* binds a child to the life
//! of its host and then becomes the server by `exec`: nothing stands between the two. The *reaper*
//! is one process beside the host; when the host is gone, by whatever end, it ends what is left.
//!
//! Any program that calls [`run_if_asked`] first in `main` can be the helper.

mod inherited;
mod launch;
mod reaper;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// First argument and name of the launcher.
pub(crate) const LAUNCH: &str = "herm-launch";
/// First argument and name of the reaper. Not named like its host: whoever kills all that is named
/// so must not kill what then ends the servers.
pub(crate) const REAPER: &str = "mcp-reaper";
/// What the launcher writes before it execs: from then on only an error number can follow.
pub(crate) const ABOUT_TO_EXEC: u8 = b'>';

/// Whether this program has come by [`run_if_asked`].
static ASKED: AtomicBool = AtomicBool::new(false);

/// The helper program of a host.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Helper {
    /// A program that calls [`run_if_asked`] first in its `main`.
    Path(PathBuf),
    /// This program is one. If it is not ([`run_if_asked`] was not called), it is not started again
    /// and again as its own helper: the host then has none.
    CurrentExe,
    /// No helper: children are guarded by process groups and kill-on-drop only, and outlive a host
    /// that is killed by signal 9.
    #[default]
    None,
}

impl Helper {
    /// The program to start; absent: there is none.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        match self {
            Self::Path(path) => Some(path.clone()),
            // The link stays this very program when its file is replaced or removed by an update.
            Self::CurrentExe if !ASKED.load(Ordering::Relaxed) => {
                tracing::warn!("no helper: `run_if_asked` was not called first in `main`");
                None
            }
            Self::CurrentExe => {
                let link = PathBuf::from("/proc/self/exe");
                if link.exists() { Some(link) } else { std::env::current_exe().ok() }
            }
            Self::None => None,
        }
    }
}

/// Plays the helper's part, if the command line of this process asks for one, and returns how to
/// end. Call it first in `main`, before any thread, runtime or command-line parser:
///
/// ```no_run
/// # use std::process::ExitCode;
/// fn main() -> ExitCode {
///     if let Some(code) = herm_host::helper::run_if_asked() {
///         return code;
///     }
///     // …
///     ExitCode::SUCCESS
/// }
/// ```
#[must_use]
pub fn run_if_asked() -> Option<ExitCode> {
    ASKED.store(true, Ordering::Relaxed);
    let mut words = std::env::args_os().skip(1);
    let part = words.next()?;
    if part == LAUNCH {
        return Some(launch::run(words));
    }
    if part == REAPER {
        return Some(reaper::run());
    }
    None
}

/// Makes this process the parent of all descendants whose own parent ends, and has each reaped when
/// it ends. For a program that starts no children but by a host: whatever else ends as its child is
/// reaped as well, and a wait of its own would then find nothing.
///
/// Without it such descendants go to the system's first process. Does nothing but on Linux.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
        crate::process::adopt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_helper_is_not_started_as_its_own() {
        // This test is such a program: started again, it would run all tests, and start itself.
        assert_eq!(Helper::CurrentExe.program(), None);
        assert_eq!(Helper::Path("/x".into()).program(), Some("/x".into()));
        assert_eq!(Helper::default().program(), None);
    }
}
