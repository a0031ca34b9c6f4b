//! The only place that starts a child.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::lookup::{self, Found};
use super::{MARKER, SpawnPlan, Spawned, Tree, stderr};
use crate::transport::LinkError;

/// Starts the child of `plan` as the leader of a new process group, with three pipes and exactly
/// the plan's environment (plus the folder of its executable in PATH, and [`MARKER`]).
///
/// It starts the child from the calling thread. A parent-death signal would be bound to that
/// thread and would need one that lives as long as the host; none is set yet, and without a
/// `pre_exec` hook this is one `posix_spawn` of about 0.1 ms, which no runtime notices.
///
/// # Errors
/// [`LinkError::NotFound`], [`LinkError::NotExecutable`], [`LinkError::BadFormat`],
/// [`LinkError::BadDirectory`], and [`LinkError::Spawn`] for the rest.
pub(crate) fn spawn(plan: &SpawnPlan) -> Result<Spawned, LinkError> {
    let failed = |error: &io::Error| refused(plan, error.to_string());
    let cwd = directory(plan)?;
    let found = lookup::find(plan, &cwd)?;
    let marker = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
    // Before the child exists, so that no exit can be missed.
    let exits = signal(SignalKind::child()).map_err(|error| failed(&error))?;

    let mut child = command(plan, &found, &cwd, &marker)
        .spawn()
        .map_err(|error| classify(plan, &found.file, &error))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tree = Tree::new(child, exits, marker)
        .ok_or_else(|| refused(plan, "it has no process id".to_owned()))?;
    let (Some(stdin), Some(stdout), Some(errors)) = pipes else {
        return Err(refused(plan, "it has no pipes".to_owned()));
    };
    Ok(Spawned { stdin, stdout, stderr: stderr::Drain::start(errors), tree })
}

#[expect(clippy::disallowed_methods, reason = "the one place; plans come from the gates only")]
fn command(plan: &SpawnPlan, found: &Found, cwd: &Path, marker: &str) -> Command {
    let mut command = Command::new(&found.file);
    command
        .args(&plan.target.args)
        .env_clear()
        .envs(plan.environment.iter().map(|(name, value)| (name, value.expose())))
        .env("PATH", &found.path)
        .env(MARKER, marker)
        .current_dir(cwd)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The last resort: `Tree` kills the group long before.
        .kill_on_drop(true);
    command
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
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::ACCESS) => LinkError::NotExecutable { path },
        Some(rustix::io::Errno::NOEXEC) => LinkError::BadFormat { path },
        // The file was there a moment ago, so it is what the file asks for that is missing.
        Some(rustix::io::Errno::NOENT) => refused(plan, missing_interpreter(file)),
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
