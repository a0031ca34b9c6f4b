//! One log file, appended to by any number of processes, rotated by the one that finds it full.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file that has reached this many bytes becomes `herm.log.1`.
const ROTATE: u64 = 5 << 20;

/// `logs/herm.log` of a state folder.
#[derive(Clone, Debug)]
pub(super) struct LogFile {
    path: PathBuf,
}

impl LogFile {
    pub(super) fn new(state: &Path) -> Self {
        Self { path: state.join("logs/herm.log") }
    }

    /// Appends whole lines in one write. A log that cannot be written is said to the debug log; it
    /// stops nothing.
    pub(super) fn append(&self, lines: &str) {
        if let Err(error) = self.try_append(lines) {
            tracing::warn!(%error, "the host's log could not be written");
        }
    }

    fn try_append(&self, lines: &str) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file = self.open()?;
        if file.metadata()?.len() >= ROTATE {
            self.rotate(&file)?;
            file = self.open()?;
        }
        // One write to a file that is opened to append: lines of several hosts do not mix.
        file.write_all(lines.as_bytes())
    }

    fn open(&self) -> io::Result<File> {
        // Without the flag a pipe in its place would be waited for.
        let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(nonblock)
            .open(&self.path)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(io::Error::other(format!("`{}` is no regular file", self.path.display())))
    }

    /// The host that gets the lock renames; the others go on with what is there.
    fn rotate(&self, full: &File) -> io::Result<()> {
        if full.try_lock().is_err() {
            return Ok(());
        }
        // Another host may have renamed it since it was opened.
        if self.open()?.metadata()?.len() >= ROTATE {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LogFile, ROTATE};

    #[test]
    fn a_full_log_is_set_aside_once_and_goes_on() {
        let state = tempfile::tempdir().unwrap();
        let log = LogFile::new(state.path());
        log.append("first\n");
        let path = state.path().join("logs/herm.log");
        let full = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        full.set_len(ROTATE).unwrap();
        log.append("second\n");
        log.append("third\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second\nthird\n");
        let old = std::fs::metadata(state.path().join("logs/herm.log.1")).unwrap();
        assert_eq!(old.len(), ROTATE);
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&path).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
}
