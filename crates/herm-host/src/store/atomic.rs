//! One JSON file, shared by several processes: read whole, changed under a lock, replaced whole.
//!
//! A reader never sees half a file. A writer that is killed loses its own write and nothing else:
//! the lock goes with the process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Largest file that is read.
const MAX: u64 = 8 << 20;

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    path: PathBuf,
}

impl Atomic {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self { path: folder.join(name) }
    }

    /// Its text; absent if there is none, or it cannot be read.
    pub(crate) fn read(&self) -> Option<String> {
        let file = File::open(&self.path).ok()?;
        if file.metadata().ok()?.len() > MAX {
            return None;
        }
        let mut text = String::new();
        file.take(MAX).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Changes it: `change` gets the text that is there now and gives the new one, or nothing.
    pub(crate) fn update(
        &self,
        change: impl FnOnce(Option<String>) -> Option<String>,
    ) -> io::Result<()> {
        let Some(folder) = self.path.parent() else { return Ok(()) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.path.with_extension("lock"))?;
        lock.lock()?;
        let Some(text) = change(self.read()) else { return Ok(()) };
        // Made 0600 by `tempfile`, in the same folder, so that the rename is one step.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::Atomic;

    #[test]
    fn eight_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = Atomic::new(folder.path(), "count.json");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let more = |text: Option<String>| {
                            let count: u32 = text.map_or(0, |text| text.parse().unwrap());
                            Some((count + 1).to_string())
                        };
                        file.update(more).unwrap();
                    }
                });
            }
        });
        assert_eq!(file.read().as_deref(), Some("200"));
    }
}
