//! Where the sockets of running hosts are.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

use super::client::Client;

/// A socket's path has at most so many bytes; the smallest limit of a system is 104 with its end.
const LONGEST: usize = 100;
/// More hosts than this on one home are not looked at.
const MOST: usize = 256;

/// The folder `run/` of a home.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It belongs to somebody else, or is no folder.
    #[error("`{}` is no folder of this user", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused.
    #[error("`{}` cannot be used: {source}", path.display())]
    Io {
        /// The folder or socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A socket that is listened on; dropping it removes it.
#[derive(Debug)]
pub struct Socket {
    pub(super) listener: UnixListener,
    /// `<pid>.sock`: the socket itself, or a link to it.
    entry: PathBuf,
    /// The private folder of a socket whose path would have been too long.
    _elsewhere: Option<TempDir>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.entry)); // a stale one is removed by whoever finds it
    }
}

impl Folder {
    /// The folder at `path`, which need not exist.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Listens on `<pid>.sock`, in a folder that only this user can enter. Made inside a runtime.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn listen(&self, pid: u32) -> Result<Socket, FolderError> {
        private(&self.path)?;
        let entry = self.path.join(format!("{pid}.sock"));
        // It has our process id, so whoever left it is gone.
        drop(fs::remove_file(&entry));
        if entry.as_os_str().len() <= LONGEST {
            // Bound under another name first: a socket is never seen before it is listened on.
            let new = self.path.join(format!("{pid}.new"));
            drop(fs::remove_file(&new));
            let listener = UnixListener::bind(&new).map_err(|source| failed(&new, source))?;
            fs::rename(&new, &entry).map_err(|source| failed(&entry, source))?;
            return Ok(Socket { listener, entry, _elsewhere: None });
        }
        let elsewhere = elsewhere().map_err(|source| failed(&std::env::temp_dir(), source))?;
        let real = elsewhere.path().join("sock");
        let listener = UnixListener::bind(&real).map_err(|source| failed(&real, source))?;
        symlink(&real, &entry).map_err(|source| failed(&entry, source))?;
        Ok(Socket { listener, entry, _elsewhere: Some(elsewhere) })
    }

    /// The hosts that answer here, by process id. A socket that nobody listens on is removed.
    pub async fn hosts(&self) -> Vec<Client> {
        let mut hosts = Vec::new();
        for (pid, entry) in self.entries() {
            let Some(path) = real(&entry) else { continue };
            match UnixStream::connect(&path).await {
                Ok(stream) if is_ours(&stream) => hosts.push(Client::new(pid, path)),
                Ok(_) => {} // somebody else's: not to be talked to
                Err(error) if is_stale(&error) => sweep(&entry, &path),
                Err(_) => hosts.push(Client::new(pid, path)), // busy, perhaps: asking will tell
            }
        }
        hosts
    }

    fn entries(&self) -> Vec<(u32, PathBuf)> {
        let listed = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut entries: Vec<(u32, PathBuf)> = listed
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some((name.strip_suffix(".sock")?.parse().ok()?, entry.path()))
            })
            .take(MOST)
            .collect();
        entries.sort_unstable();
        entries
    }
}

/// Where the socket itself is.
fn real(entry: &Path) -> Option<PathBuf> {
    let about = fs::symlink_metadata(entry).ok()?;
    if !about.is_symlink() {
        return Some(entry.to_owned());
    }
    fs::read_link(entry).ok()
}

/// Nobody listens any more.
fn is_stale(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
}

fn sweep(entry: &Path, path: &Path) {
    // Two commands may find it at the same time: the second has nothing left to do.
    drop(fs::remove_file(entry));
    if path != entry {
        drop(fs::remove_file(path));
        drop(path.parent().map(fs::remove_dir));
    }
}

/// Whether the process at the other end is of our user.
pub(super) fn is_ours(stream: &UnixStream) -> bool {
    let us = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == us)
}

/// Makes the folder, and sees that nobody else can enter it.
fn private(path: &Path) -> Result<(), FolderError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| failed(path, source))?;
    let about = fs::symlink_metadata(path).map_err(|source| failed(path, source))?;
    if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() {
        return Err(FolderError::NotOurs { path: path.to_owned() });
    }
    if about.mode() & 0o077 != 0 {
        let closed = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
        closed.map_err(|source| failed(path, source))?;
    }
    Ok(())
}

/// A private folder (0700, a name of its own) with a short path.
fn elsewhere() -> io::Result<TempDir> {
    let make = |folder: &Path| tempfile::Builder::new().prefix("herm-").tempdir_in(folder);
    let usual = std::env::temp_dir();
    let short = usual.as_os_str().len() + "/herm-abcdef/sock".len() <= LONGEST;
    make(if short { &usual } else { Path::new("/tmp") })
}

fn failed(path: &Path, source: io::Error) -> FolderError {
    FolderError::Io { path: path.to_owned(), source }
}
