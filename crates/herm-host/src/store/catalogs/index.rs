//! The index: one line of JSON a server, so that a person can read it too.

use std::path::Path;

use herm_core::catalog::StoredLists;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Its name in the folder.
pub(super) const FILE: &str = "index.jsonl";
/// Servers in it; the oldest go first.
const MAX: usize = 1_000;
/// A larger file is none of ours.
const MAX_BYTES: u64 = 4 << 20;

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
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Index(Vec<Row>);

impl Index {
    /// What is there; a line that cannot be read is left out. It is made of the files, and a listing
    /// puts each server back.
    pub(super) fn read(folder: &Path) -> Self {
        let path = folder.join(FILE);
        let small = std::fs::metadata(&path).is_ok_and(|about| about.len() <= MAX_BYTES);
        let text =
            if small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        Self(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// True if what is kept in `file`, for whichever server, was listed after `at`, and not in a future
    /// that is none.
    pub(super) fn has_newer(&self, file: &str, at: i64, future: i64) -> bool {
        let newer = |row: &Row| row.listed_at_ms > at && row.listed_at_ms < future;
        self.0.iter().any(|row| row.file == file && newer(row))
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
        let line = |row: &Row| serde_json::to_string(row).unwrap_or_default() + "\n";
        self.0.iter().map(line).collect()
    }
}
