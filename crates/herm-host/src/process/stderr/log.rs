//! A server's standard error in a file: cleaned, redacted, rotated.
//!
//! One thread writes for all servers. The way to it is bounded and never waited for: what it has no
//! place for is dropped, counted, and said in the file.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use herm_core::name::ServerName;
use rustix::fs::OFlags;
use tokio::sync::oneshot;

use super::plain;
use crate::redact::Redactor;

/// A line in the file, at most, in characters.
const LINE: usize = 2_000;
/// What is kept of a line on its way, in bytes: room for as many of the longest characters.
const RAW: usize = 4 * LINE + 192;
/// Entries that may wait for the thread: with long lines about 2 MiB, for all servers together.
const QUEUE: usize = 256;
/// A file that has reached this many bytes becomes `NAME.log.1`.
const ROTATE: u64 = 5 << 20;
/// Lines are written together up to about this many bytes.
const TOGETHER: usize = 32 * 1024;
/// An idle file is closed after this long.
const IDLE: Duration = Duration::from_secs(1);
/// How long [`saved`] waits, and how often it asks.
const SAVED: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_millis(10);

/// The file of one generation of a server. Clones mean the same one.
#[derive(Clone)]
pub(crate) struct Log(Arc<Place>);

struct Place {
    file: PathBuf,
    redactor: Redactor,
    generation: u64,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Log").field(&self.0.file).finish()
    }
}

impl Log {
    /// `logs/mcp-stderr/NAME.log` of a state folder.
    pub(crate) fn new(
        state: &Path,
        server: &ServerName,
        generation: u64,
        redactor: Redactor,
    ) -> Self {
        let file = state.join("logs/mcp-stderr").join(format!("{server}.log"));
        Self(Arc::new(Place { file, redactor: redactor.by_lines(), generation }))
    }

    /// Writes the line that a new process starts with.
    pub(crate) fn begin(&self, pid: u32) -> Sink {
        let (now, generation) = (jiff::Timestamp::now(), self.0.generation);
        let head = format!("--- {now:.3} generation {generation} pid {pid} ---");
        let mut sink = Sink { log: self.clone(), line: Vec::new(), cut: false, dropped: 0 };
        sink.push(head.as_bytes());
        sink.push(b"\n");
        sink
    }
}

/// Bytes in, whole lines out. Dropped, it hands on the line that was not ended.
#[derive(Debug)]
pub(crate) struct Sink {
    log: Log,
    line: Vec<u8>,
    /// The line is over the bound, and its end is dropped.
    cut: bool,
    /// Lines that found no place.
    dropped: u64,
}

impl Sink {
    /// Takes what was read. A carriage return ends a line too.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, ends) = match piece.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (piece, false),
            };
            let room = RAW - self.line.len();
            self.cut |= text.len() > room;
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                self.hand_on();
            }
        }
    }

    fn hand_on(&mut self) {
        if self.line.is_empty() && self.dropped == 0 {
            return;
        }
        let entry = Entry::Line {
            log: self.log.clone(),
            line: std::mem::take(&mut self.line),
            cut: std::mem::take(&mut self.cut),
            dropped: self.dropped,
        };
        if thread().is_some_and(|thread| thread.try_send(entry).is_ok()) {
            self.dropped = 0;
        } else {
            self.dropped += 1;
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.hand_on();
    }
}

/// Waits until everything that was handed on so far is in its file, half a second at most.
pub(super) async fn saved() {
    let Some(thread) = thread() else { return };
    let asked = async {
        loop {
            let (done, hears) = oneshot::channel();
            if thread.try_send(Entry::Saved(done)).is_ok() {
                drop(hears.await);
                return;
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    // Late is no failure: the thread goes on.
    drop(tokio::time::timeout(SAVED, asked).await);
}

enum Entry {
    Line { log: Log, line: Vec<u8>, cut: bool, dropped: u64 },
    Saved(oneshot::Sender<()>),
}

fn thread() -> Option<&'static SyncSender<Entry>> {
    static THREAD: OnceLock<Option<SyncSender<Entry>>> = OnceLock::new();
    THREAD
        .get_or_init(|| {
            let (entries, arrive) = sync_channel(QUEUE);
            let thread = std::thread::Builder::new().name("herm-stderr".to_owned());
            thread.spawn(move || Writer::default().run(&arrive)).ok()?;
            Some(entries)
        })
        .as_ref()
}

/// What the thread has in hand: one file, and what goes into it next.
#[derive(Default)]
struct Writer {
    open: Option<(Log, File)>,
    text: String,
    /// Lines in `text`.
    lines: u64,
    /// Lines that could not be written.
    lost: u64,
}

impl Writer {
    fn run(mut self, entries: &Receiver<Entry>) {
        loop {
            let entry = if self.lines > 0 {
                entries.try_recv().map_err(|_| RecvTimeoutError::Timeout)
            } else if self.open.is_some() {
                entries.recv_timeout(IDLE)
            } else {
                entries.recv().map_err(RecvTimeoutError::from)
            };
            match entry {
                Ok(Entry::Line { log, line, cut, dropped }) => {
                    self.turn_to(&log);
                    self.add(&log.0, &line, cut, dropped);
                }
                Ok(Entry::Saved(done)) => {
                    self.flush();
                    // Whoever asked may have stopped waiting.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) if self.lines > 0 => self.flush(),
                Err(RecvTimeoutError::Timeout) => self.open = None,
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.text.len() > TOGETHER {
                self.flush();
            }
        }
    }

    /// Opens the file of `log`, unless it is the one in hand.
    fn turn_to(&mut self, log: &Log) {
        if self.open.as_ref().is_some_and(|(open, _)| open.0.file == log.0.file) {
            return;
        }
        self.flush();
        self.lost = 0;
        self.open = open(&log.0.file).ok().map(|file| (log.clone(), file));
    }

    fn add(&mut self, place: &Place, line: &[u8], cut: bool, dropped: u64) {
        let dropped = dropped + std::mem::take(&mut self.lost);
        if dropped > 0 {
            self.text.push_str("--- ");
            self.text.push_str(&dropped.to_string());
            self.text.push_str(" lines were dropped here ---\n");
        }
        let text = clean(place, line, cut);
        if !text.is_empty() {
            self.text.push_str(&text);
            self.text.push('\n');
        }
        self.lines += 1;
    }

    fn flush(&mut self) {
        if self.lines > 0 && self.write().is_err() {
            self.lost += self.lines;
            self.open = None;
        }
        self.lines = 0;
        self.text.clear();
    }

    fn write(&mut self) -> io::Result<()> {
        let Some((log, file)) = &mut self.open else {
            return Err(io::Error::other("it could not be opened"));
        };
        if file.metadata()?.len() >= ROTATE {
            let path = &log.0.file;
            // Another process may have done it already.
            if fs::metadata(path)?.len() >= ROTATE {
                fs::rename(path, path.with_added_extension("1"))?;
            }
            *file = open(path)?;
        }
        // One write, so that the lines of several hosts do not tear each other.
        file.write_all(self.text.as_bytes())
    }
}

/// The line as it is kept. Cleaned first: a secret may have an escape sequence inside.
fn clean(place: &Place, line: &[u8], cut: bool) -> String {
    let mut text = plain(line);
    if cut {
        // It may end within a secret, which then would not be known again. The rest of a character
        // that was cut as well counts for one more.
        let tail = place.redactor.longest() + 1;
        let keep = text.chars().count().saturating_sub(tail);
        text = text.chars().take(keep).collect();
    }
    place.redactor.text(&mut text);
    if cut || text.chars().count() > LINE {
        text = text.chars().take(LINE - 1).collect();
        text.push('…');
    }
    text
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // Neither waits for the other end of a pipe nor follows a link out of the folder.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other(format!("`{}` is no regular file", path.display())));
    }
    if found.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
