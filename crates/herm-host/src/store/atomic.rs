//! One JSON file, shared by several processes: read whole, changed under a lock, replaced whole.
//!
//! A reader never sees half a file. A writer that is killed loses its own write and nothing else:
//! the lock goes with the process. What stands in the place of a file and is none (a pipe, a
//! device), or a lock whose holder does not let go, keeps nobody waiting.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest file that is read.
const MAX: u64 = 8 << 20;
/// How long the lock is waited for: a holder needs milliseconds, unless it was stopped.
const LOCK: Duration = Duration::from_secs(2);

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    path: PathBuf,
}

/// Inode, length in bytes, time of the last change.
pub(crate) type Stamp = (u64, u64, Option<SystemTime>);

impl Atomic {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self { path: folder.join(name) }
    }

    /// Its text; absent if there is none, or it cannot be read.
    fn read(&self) -> Option<String> {
        let file = open(OpenOptions::new().read(true), &self.path).ok()?;
        if file.metadata().ok()?.len() > MAX {
            return None;
        }
        let mut text = String::new();
        file.take(MAX).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// What tells it from what it was; absent if there is none.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let found = fs::metadata(&self.path).ok()?;
        Some((found.ino(), found.len(), found.modified().ok()))
    }

    /// Its content; the default if there is none, or it cannot be read.
    pub(crate) fn content<T: Default + DeserializeOwned>(&self) -> T {
        self.parsed().unwrap_or_default()
    }

    /// Changes it under the lock: `change` gets what is there now and says whether it is to be
    /// written. What cannot be read is set aside first, as `NAME.set-aside`, and so not lost.
    pub(crate) fn change<T: Default + DeserializeOwned + Serialize>(
        &self,
        change: impl FnOnce(&mut T) -> bool,
    ) -> io::Result<()> {
        let mut failed = None;
        let written = self.exchange(None, |content: Option<T>| {
            let mut content = content.unwrap_or_default();
            if !change(&mut content) {
                return None;
            }
            serde_json::to_vec_pretty(&content).map_err(|error| failed = Some(error)).ok()
        });
        failed.map_or(written.map(drop), |error| Err(error.into()))
    }

    /// The same for a file that is kept in memory. `make` gets what is there if that is not what was
    /// left there with the stamp `known`, and gives what is to be written; the stamp of that comes back.
    pub(crate) fn exchange<T: Default + DeserializeOwned>(
        &self,
        known: Option<Stamp>,
        make: impl FnOnce(Option<T>) -> Option<Vec<u8>>,
    ) -> io::Result<Option<Stamp>> {
        let Some(folder) = self.path.parent() else { return Ok(None) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let _lock = locked(open(&mut options, &self.path.with_extension("lock"))?)?;
        let found = self.stamp();
        let same = known.is_some() && known == found;
        let content = if same { None } else { Some(self.whole()?) };
        let Some(content) = make(content) else { return Ok(found) };
        // Made 0600 by `tempfile`, in the same folder, so that the rename is one step.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&content)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()?;
        Ok(self.stamp())
    }

    /// What is there; what cannot be read is set aside.
    fn whole<T: Default + DeserializeOwned>(&self) -> io::Result<T> {
        let found = self.parsed();
        let is_file = fs::metadata(&self.path).is_ok_and(|file| file.is_file());
        if found.is_none() && is_file {
            fs::rename(&self.path, self.path.with_extension("json.set-aside"))?;
        }
        Ok(found.unwrap_or_default())
    }

    fn parsed<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.read()?).ok()
    }
}

/// Opens a regular file, and nothing that could keep us waiting.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Without the flag a pipe without a peer is waited for, before there is anything to look at.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = options.custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other(format!("`{}` is no regular file", path.display())))
}

/// Takes the lock, or says that another process holds it for too long.
pub(super) fn locked(file: File) -> io::Result<File> {
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(fs::TryLockError::WouldBlock) => {}
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    // A lock cannot be waited for with a deadline, but a thread can: a late lock is given back.
    let (done, taken) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("lock".to_owned()).spawn(move || {
        let locked = file.lock().map(|()| file);
        drop(done.send(locked)); // nobody waits any more: the file closes, and the lock is free
    })?;
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "another process holds the lock");
    taken.recv_timeout(LOCK).map_err(late)?
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::Atomic;

    fn set(file: &Atomic, value: u32) -> std::io::Result<()> {
        file.change(|content: &mut u32| {
            *content = value;
            true
        })
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = Atomic::new(folder.path(), "names.json");
        let pipe = |name: &str| {
            let path = folder.path().join(name);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        };
        pipe("names.json");
        assert_eq!(file.content::<u32>(), 0);
        set(&file, 1).unwrap();
        assert_eq!(file.content::<u32>(), 1, "the pipe is replaced");
        std::fs::remove_file(folder.path().join("names.lock")).unwrap();
        pipe("names.lock");
        set(&file, 2).unwrap_err();
        assert_eq!(file.content::<u32>(), 1, "nothing is written without the lock");
    }

    #[test]
    fn a_lock_whose_holder_was_stopped_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = Atomic::new(folder.path(), "names.json");
        let holder = File::create(folder.path().join("names.lock")).unwrap();
        holder.lock().unwrap();
        let error = set(&file, 1).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        drop(holder);
        set(&file, 1).unwrap();
        assert_eq!(file.content::<u32>(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_set_aside_and_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let file = Atomic::new(folder.path(), "names.json");
        std::fs::write(folder.path().join("names.json"), "edited by hand: badly").unwrap();
        set(&file, 1).unwrap();
        assert_eq!(file.content::<u32>(), 1);
        let aside = std::fs::read_to_string(folder.path().join("names.json.set-aside")).unwrap();
        assert_eq!(aside, "edited by hand: badly");
    }

    #[test]
    fn eight_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = Atomic::new(folder.path(), "count.json");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let more = |count: &mut u32| {
                            *count += 1;
                            true
                        };
                        file.change(more).unwrap();
                    }
                });
            }
        });
        assert_eq!(file.content::<u32>(), 200);
    }
}
