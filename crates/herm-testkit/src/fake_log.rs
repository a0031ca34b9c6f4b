//! What `herm-fake` saw and did, one JSON object a line in the file that `--log FILE` or
//! `HERM_FAKE_LOG` names. All generations of a server append to the same file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One thing that happened.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Milliseconds of the machine's monotonic clock: comparable between processes.
    pub ms: f64,
    /// Which generation.
    pub pid: u32,
    /// `spawn`, `in`, `out`, `signal`, `exit`, `check`, `connect` or `request`.
    pub event: String,
    /// `spawn`: parent, group, arguments, environment, directory. `in`, `out`: `{bytes, text}`, the
    /// text cut at 2,000 characters. `check`: `{name, ok, detail}`. `request`: an HTTP request.
    pub data: Value,
}

/// Writes entries. Without a file every entry is dropped.
#[derive(Debug)]
pub struct Writer {
    file: Option<File>,
}

impl Writer {
    /// Appends to `path`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Self { file: path.map(open).transpose()? })
    }

    /// Adds an entry, in one write so that generations do not tear each other's lines.
    pub fn add(&self, event: &str, data: Value) {
        let Some(mut file) = self.file.as_ref() else { return };
        let pid = std::process::id();
        let entry = Entry { ms: monotonic_ms(), pid, event: event.to_owned(), data };
        if let Ok(mut line) = serde_json::to_vec(&entry) {
            line.push(b'\n');
            drop(file.write_all(&line));
        }
    }

    /// Adds what came in or went out.
    pub fn add_bytes(&self, event: &str, bytes: &[u8]) {
        if self.file.is_some() {
            let text: String = String::from_utf8_lossy(bytes).chars().take(2000).collect();
            self.add(event, json!({"bytes": bytes.len(), "text": text}));
        }
    }
}

/// Everything logged so far, in the order of the file; an unfinished last line is left out.
/// A missing file is an empty log: nothing was started.
#[must_use]
pub fn read(path: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// How many times the server was started.
#[must_use]
pub fn spawns(path: &Path) -> usize {
    read(path).iter().filter(|entry| entry.event == "spawn").count()
}

/// The checks that the script made of its client, by name; panics with the failed ones.
pub fn assert_checks(path: &Path, names: &[&str]) {
    let entries = read(path);
    let checks: Vec<&Value> =
        entries.iter().filter(|e| e.event == "check").map(|e| &e.data).collect();
    let failed: Vec<&&Value> = checks.iter().filter(|check| check["ok"] != true).collect();
    if !failed.is_empty() {
        panic!("checks failed: {failed:?}");
    }
    for name in names {
        if !checks.iter().any(|check| check["name"] == *name) {
            panic!("check `{name}` was never made; made were {checks:?}");
        }
    }
}

fn monotonic_ms() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    #[expect(clippy::cast_precision_loss, reason = "a test log needs no nanoseconds")]
    let ms = now.tv_sec as f64 * 1000.0 + now.tv_nsec as f64 / 1e6;
    ms
}
