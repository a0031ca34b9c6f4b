//! Which file a configured command is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::SpawnPlan;
use crate::transport::LinkError;

/// What is searched when the child's environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Commands of Node, which version managers often keep off the PATH of a service.
const NODE: [&str; 3] = ["npx", "npm", "node"];

/// A command, found.
#[derive(Debug)]
pub(super) struct Found {
    /// The executable, absolute.
    pub(super) file: PathBuf,
    /// The PATH of the child: its own, with the folder of the executable in front, so that an
    /// `npx` finds the `node` beside it.
    pub(super) path: OsString,
}

/// Finds the executable. A command with a slash is a path, relative to `cwd`; a bare name is
/// searched in the PATH of the child's environment, never in ours.
///
/// # Errors
/// [`LinkError::NotFound`], or [`LinkError::NotExecutable`] if the only file of that name may not
/// be executed.
pub(super) fn find(plan: &SpawnPlan, cwd: &Path) -> Result<Found, LinkError> {
    let command = plan.target.command.as_str();
    let path = plan.environment.get("PATH").map_or(DEFAULT_PATH, |path| path.expose());
    let folders: Vec<PathBuf> = if command.contains('/') {
        vec![cwd.to_owned()]
    } else {
        folders(plan, path).map(|folder| cwd.join(folder)).collect()
    };

    let mut refused = None;
    for file in folders.iter().map(|folder| folder.join(command)).filter(|file| file.is_file()) {
        if access(&file, Access::EXEC_OK).is_ok() {
            let path = in_front(file.parent(), path);
            return Ok(Found { file, path });
        }
        refused.get_or_insert(file);
    }
    let path = cwd.join(command);
    Err(match refused {
        Some(file) => LinkError::NotExecutable { path: file.display().to_string() },
        None if command.contains('/') && path.is_dir() => {
            LinkError::Directory { path: path.display().to_string() }
        }
        None => not_found(command, cwd, &folders),
    })
}

/// The folders to search, in order. An empty entry of PATH means the working directory to a
/// shell; here it means nothing, since no one asks for that on purpose.
fn folders(plan: &SpawnPlan, path: &str) -> impl Iterator<Item = PathBuf> {
    let fallback = NODE.contains(&plan.target.command.as_str()).then(|| {
        let home = plan.home.as_deref();
        let user = plan.environment.get("HOME").map(|home| Path::new(home.expose()));
        [
            home.map(|home| home.join("node/bin")),
            user.map(|user| user.join(".local/bin")),
            Some(PathBuf::from("/usr/local/bin")),
        ]
    });
    let own: Vec<PathBuf> = std::env::split_paths(path).collect();
    own.into_iter()
        .filter(|folder| !folder.as_os_str().is_empty())
        .chain(fallback.into_iter().flatten().flatten())
}

fn in_front(folder: Option<&Path>, path: &str) -> OsString {
    let mut joined = OsString::new();
    if let Some(folder) = folder
        && std::env::split_paths(path).next().as_deref() != Some(folder)
    {
        joined.push(folder);
        joined.push(if path.is_empty() { "" } else { ":" });
    }
    joined.push(path);
    joined
}

fn not_found(command: &str, cwd: &Path, searched: &[PathBuf]) -> LinkError {
    let path = if command.contains('/') {
        cwd.join(command).display().to_string()
    } else {
        searched.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":")
    };
    LinkError::NotFound { command: command.to_owned(), path }
}
