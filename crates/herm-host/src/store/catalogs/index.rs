//! The index: one line of JSON for each listing, so that a person can read it too; the last line of a
//! server counts.
//!
//! A listing appends its line. The whole is written anew only when a server has filled its share with
//! listings: a host that starts a thousand servers does not write a thousand times what it knows.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use herm_core::catalog::StoredLists;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::atomic;

/// Its name in the folder.
pub(super) const FILE: &str = "index.jsonl";
/// Servers in it; the oldest go first.
const MAX: usize = 1_000;
/// A larger file is none of ours.
const MAX_BYTES: u64 = 4 << 20;
/// Lines of one server; with one more, the index is written anew.
const LINES: usize = 8;
/// Rows have some 250 bytes; what is longer is none.
const MAX_LINE: u64 = 64 << 10;

/// One server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Row {
    pub(super) server: String,
    pub(super) fingerprint: String,
    pub(super) file: String,
    pub(super) tools: usize,
    pub(super) era: String,
    pub(super) generation: u64,
    listed_at: String,
    pub(super) listed_at_ms: i64,
}

impl Row {
    pub(super) fn of(lists: &StoredLists, file: String) -> Self {
        let at = Timestamp::from_millisecond(lists.listed_at_ms).unwrap_or_default();
        Self {
            server: lists.server.clone(),
            fingerprint: lists.fingerprint.clone(),
            file,
            tools: lists.tools.len(),
            era: lists.revision.as_str().to_owned(),
            generation: lists.generation,
            listed_at: at.to_string(),
            listed_at_ms: lists.listed_at_ms,
        }
    }
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    fn line(&self) -> String {
        // Texts and numbers: there is nothing in it that cannot be written.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// What a writer has to know before it adds a row.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// When the file of the row was listed, by whichever server it belongs to.
    times: Vec<(String, i64)>,
    /// Lines of the row's server.
    lines: usize,
    /// The last line is cut: its writer was killed.
    cut: bool,
    bytes: u64,
}

/// The fields of a row that tell one from another.
#[derive(Deserialize)]
struct Key<'a> {
    #[serde(borrow)]
    server: Cow<'a, str>,
    #[serde(borrow)]
    file: Cow<'a, str>,
    listed_at_ms: i64,
}

impl Look {
    /// Looks for what is known of the row's server and file. Keeps one line in memory at a time.
    pub(super) fn at(folder: &Path, row: &Row) -> Self {
        let mut look = Self::default();
        // What cannot be read is made anew: it is made of the files, and a listing puts each back.
        if look.read(folder, row).is_err() {
            look.bytes = u64::MAX;
        }
        look
    }

    fn read(&mut self, folder: &Path, row: &Row) -> io::Result<()> {
        let file = match atomic::open(OpenOptions::new().read(true), &folder.join(FILE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut lines = BufReader::new(file.take(MAX_BYTES + 1));
        let mut line = Vec::with_capacity(512);
        loop {
            line.clear();
            let read = lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            self.bytes += read as u64;
            self.cut = line.last() != Some(&b'\n');
            let Ok(known) = serde_json::from_slice::<Key<'_>>(&line) else { continue };
            self.lines += usize::from(known.server == row.server);
            self.times.retain(|(server, _)| known.server != server.as_str());
            if known.file == row.file {
                self.times.push((known.server.into_owned(), known.listed_at_ms));
            }
        }
    }

    /// True if what is kept in the row's file was listed after `at`, and not in a future that is none.
    pub(super) fn has_newer(&self, at: i64, future: i64) -> bool {
        self.times.iter().any(|(_, known)| *known > at && *known < future)
    }

    /// True if there is no room for another line.
    pub(super) fn is_full(&self) -> bool {
        self.lines >= LINES || self.bytes > MAX_BYTES / 2
    }

    /// Adds the row behind what was looked at.
    pub(super) fn append(&self, folder: &Path, row: &Row) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        options.mode(0o600);
        let mut file = atomic::open(&mut options, &folder.join(FILE))?;
        // A line that was cut is ended, and does not take this one with it.
        let before = if self.cut { "\n" } else { "" };
        file.write_all(format!("{before}{}", row.line()).as_bytes())
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Index(Vec<Row>);

impl Index {
    /// What is there; a line that cannot be read is left out. It is made of the files, and a listing
    /// puts each server back.
    pub(super) fn read(folder: &Path) -> Self {
        let mut index = Self::default();
        let Ok(file) = atomic::open(OpenOptions::new().read(true), &folder.join(FILE)) else {
            return index;
        };
        let mut bytes = Vec::new();
        if file.take(MAX_BYTES + 1).read_to_end(&mut bytes).is_err()
            || bytes.len() as u64 > MAX_BYTES
        {
            return index;
        }
        // From the end: the last line of a server counts.
        let mut seen = HashSet::new();
        for line in bytes.rsplit(|byte| *byte == b'\n') {
            let Ok(row) = serde_json::from_slice::<Row>(line) else { continue };
            if seen.insert(row.server.clone()) {
                index.0.push(row);
            }
        }
        index.0.reverse();
        index
    }

    /// Puts a server in, in the place of what was known of it.
    pub(super) fn put(&mut self, row: Row) {
        self.0.retain(|known| known.server != row.server);
        self.0.push(row);
        if self.0.len() > MAX {
            self.0.sort_by_key(|row| row.listed_at_ms);
            self.0.drain(..self.0.len() - MAX);
        }
    }

    pub(super) fn uses(&self, file: &str) -> bool {
        self.0.iter().any(|row| row.file == file)
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.0
    }

    /// Takes rows out, and gives them back.
    pub(super) fn remove(&mut self, gone: impl Fn(&Row) -> bool) -> Vec<Row> {
        let (gone, stay) = std::mem::take(&mut self.0).into_iter().partition(gone);
        self.0 = stay;
        gone
    }

    pub(super) fn to_text(&self) -> String {
        self.0.iter().map(Row::line).collect()
    }
}
