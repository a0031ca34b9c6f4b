//! The only place that starts a child.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::children::{self, Born, Order};
use super::lookup::{self, Found};
use super::{MARKER, SpawnPlan, Spawned, Tree, stderr};
use crate::helper::{ABOUT_TO_EXEC, LAUNCH, REAPER};
use crate::transport::LinkError;

/// An exec that has begun fails or succeeds at once. What still holds the launcher's pipe after
/// this long is no launcher, but a process that was started elsewhere in this program at the same
/// moment.
const EXEC: Duration = Duration::from_secs(5);

/// Starts the child of `plan` as the leader of a new process group, with three pipes and exactly
/// the plan's environment (plus the folder of its executable in PATH, and [`MARKER`]).
///
/// With a helper the child is started as a launcher, which becomes the server by `exec`; this
/// returns when it has. Nothing here blocks the runtime: children are started from a thread of
/// their own. Dropped on the way, it leaves nothing.
///
/// # Errors
/// [`LinkError::NotFound`], [`LinkError::NotExecutable`], [`LinkError::BadFormat`],
/// [`LinkError::BadDirectory`], and [`LinkError::Spawn`] for the rest.
pub(crate) async fn spawn(plan: &SpawnPlan) -> Result<Spawned, LinkError> {
    let failed = |error: io::Error| refused(plan, error.to_string());
    let cwd = directory(plan)?;
    let found = lookup::find(plan, &cwd)?;
    let marker = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
    // Before the child exists, so that no exit can be missed.
    let exits = signal(SignalKind::child()).map_err(failed)?;

    let launcher = plan.care.helper.as_deref().map(Launcher::new).transpose().map_err(failed)?;
    let mut command = command(plan, launcher.as_ref(), &found, &marker);
    command.current_dir(cwd);
    let (helper, execs) = match launcher {
        Some(Launcher { program, status, execs }) => (Some((program, status)), Some(execs)),
        None => (None, None),
    };
    let started = children::start(Order { command, marker, helper }).await;
    let Born { leader, pipes } = match (started, &execs) {
        (Ok(born), _) => born,
        (Err(error), None) => return Err(classify(plan, &found.file, &error)),
        (Err(error), Some(_)) => return Err(refused(plan, no_helper(&error))),
    };
    if let Some(execs) = execs {
        match timeout(plan.care.limit, exec_error(execs)).await {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(errno))) => return Err(classify(plan, &found.file, &errno.into())),
            Ok(Err(error)) => return Err(refused(plan, no_helper(&error))),
            Err(_) => return Err(refused(plan, "it did not start in time".to_owned())),
        }
    }
    let (stdin, stdout, errors) =
        pipes.ok_or_else(|| refused(plan, "it has no pipes".to_owned()))?;
    let stdin = ChildStdin::from_std(stdin).map_err(failed)?;
    let stdout = ChildStdout::from_std(stdout).map_err(failed)?;
    let errors = ChildStderr::from_std(errors).map_err(failed)?;
    let tree = Tree::new(leader, exits);
    let log = plan.care.log.as_ref().map(|log| log.begin(tree.pid()));
    Ok(Spawned { stdin, stdout, stderr: stderr::Drain::start(errors, log), tree })
}

/// The helper that a child is started by, and the pipe on which it reports.
struct Launcher {
    program: PathBuf,
    status: OwnedFd,
    execs: pipe::Receiver,
}

impl Launcher {
    fn new(program: &Path) -> io::Result<Self> {
        let (reads, status) = pipe_with(PipeFlags::CLOEXEC)?;
        let execs = pipe::Receiver::from_owned_fd(reads)?;
        Ok(Self { program: program.to_owned(), status, execs })
    }
}

/// Waits until the launcher has become the server, or says why it has not.
async fn exec_error(mut execs: pipe::Receiver) -> io::Result<Option<Errno>> {
    let mut word = [0];
    if execs.read(&mut word).await? == 0 || word != [ABOUT_TO_EXEC] {
        return Err(io::Error::other("it ended before it came to the server"));
    }
    let mut errno = [0; 4];
    match timeout(EXEC, execs.read_exact(&mut errno)).await {
        Ok(Ok(_)) => Ok(Some(Errno::from_raw_os_error(i32::from_le_bytes(errno)))),
        // The exec has closed it.
        Ok(Err(_)) | Err(_) => Ok(None),
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place; plans come from the gates only")]
fn command(plan: &SpawnPlan, launcher: Option<&Launcher>, found: &Found, marker: &str) -> Command {
    let mut command = match launcher {
        Some(launcher) => {
            let mut command = Command::new(&launcher.program);
            let numbers = [std::process::id().to_string(), launcher.status.as_raw_fd().to_string()];
            command.arg0(LAUNCH).arg(LAUNCH).args(numbers).arg(&found.file);
            command
        }
        None => Command::new(&found.file),
    };
    command
        .args(&plan.target.args)
        .env_clear()
        .envs(plan.environment.iter().map(|(name, value)| (name, value.expose())))
        .env("PATH", &found.path)
        .env(MARKER, marker)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The reaper of this process, see `helper::reaper`: in a group of its own, so that what a terminal
/// sends to us does not reach it, and without any marker, so that nobody's sweep finds it.
#[expect(clippy::disallowed_methods, reason = "the helper is a part of this program, no server")]
pub(super) fn reaper(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .arg0(REAPER)
        .arg(REAPER)
        .env_clear()
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn no_helper(error: &io::Error) -> String {
    format!("the helper that starts it failed: {error}")
}

/// The child's working directory, absolute: the plan's, or ours.
fn directory(plan: &SpawnPlan) -> Result<PathBuf, LinkError> {
    let wanted = plan.target.cwd.as_deref().unwrap_or(".");
    let bad = |_| LinkError::BadDirectory { path: wanted.to_owned() };
    let cwd = std::path::absolute(wanted).map_err(bad)?;
    // `x/.` is looked up in `x`, so this also proves that it may be entered.
    if cwd.join(".").is_dir() {
        Ok(cwd)
    } else {
        Err(LinkError::BadDirectory { path: wanted.to_owned() })
    }
}

fn classify(plan: &SpawnPlan, file: &Path, error: &io::Error) -> LinkError {
    let path = file.display().to_string();
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS) => LinkError::NotExecutable { path },
        Some(Errno::NOEXEC) => LinkError::BadFormat { path },
        // The file was there a moment ago, so it is what the file asks for that is missing.
        Some(Errno::NOENT) => refused(plan, missing_interpreter(file)),
        _ => refused(plan, error.to_string()),
    }
}

fn missing_interpreter(file: &Path) -> String {
    let mut start = Vec::new();
    if let Ok(file) = std::fs::File::open(file) {
        // Best effort: an unreadable file only makes the message poorer.
        drop(file.take(256).read_to_end(&mut start));
    }
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match line.strip_prefix(b"#!") {
        Some(interpreter) => {
            let name = stderr::plain(interpreter);
            format!("the interpreter `{}` of its `#!` line was not found", name.trim())
        }
        None => "its interpreter or dynamic loader was not found".to_owned(),
    }
}

fn refused(plan: &SpawnPlan, why: String) -> LinkError {
    LinkError::Spawn { command: plan.target.command.clone(), why }
}
