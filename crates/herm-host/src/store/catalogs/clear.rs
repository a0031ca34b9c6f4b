//! What is kept, as a person sees it, and its removal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::index::{self, Index, Row};
use super::{Catalogs, Place, millis};

/// Servers whose lists were cleared, so that what another program keeps of them is not taken over.
const CLEARED: &str = "cleared.json";
/// So many are remembered; the oldest go first.
const MAX_CLEARED: usize = 1_000;

/// One server of the index.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) server: String,
    pub(crate) fingerprint: String,
    pub(crate) file: String,
    /// Absent: the file is gone.
    pub(crate) bytes: Option<u64>,
    pub(crate) tools: usize,
    pub(crate) revision: String,
    pub(crate) generation: u64,
    pub(crate) listed_at_ms: i64,
}

/// What is to be removed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clear<'a> {
    /// Everything; these are all servers that are known.
    All(&'a [String]),
    /// Of one server, whatever the values of its variables were.
    One {
        server: &'a str,
        /// Of its entry, if it has one.
        fingerprint: Option<&'a str>,
    },
}

/// What was removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Removed {
    /// Of which servers; several may share a file.
    pub(crate) servers: BTreeSet<String>,
    /// Names of files and their bytes.
    pub(crate) files: Vec<(String, u64)>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Marks {
    v: u32,
    /// When, by server.
    servers: BTreeMap<String, Timestamp>,
}

/// What the second line of a file says of whose it is.
#[derive(Deserialize)]
struct Whose {
    server: String,
}

impl Catalogs {
    /// What is kept, by the index. Blocks for the reading of one file.
    pub(crate) fn kept(&self) -> Vec<Kept> {
        let Some(place) = &self.place else { return Vec::new() };
        let of = |row: &Row| {
            let about = fs::metadata(place.folder.join(&row.file)).ok();
            Kept {
                server: row.server.clone(),
                fingerprint: row.fingerprint.clone(),
                file: row.file.clone(),
                bytes: about.map(|about| about.len()),
                tools: row.tools,
                revision: row.era.clone(),
                generation: row.generation,
                listed_at_ms: row.listed_at_ms,
            }
        };
        let index = Index::read(&place.folder);
        index.rows().iter().map(of).collect()
    }

    /// The servers whose lists a person has cleared. Blocks for the reading of one small file.
    pub(crate) fn cleared(&self) -> BTreeSet<String> {
        let marks = self.place.as_ref().map(Place::marks).unwrap_or_default();
        marks.servers.into_keys().collect()
    }

    /// Removes what is kept, and remembers that it was a person's wish. Blocks.
    ///
    /// # Errors
    /// Of the disk; what was removed by then stays removed.
    pub(crate) fn clear(&self, what: Clear<'_>) -> io::Result<Removed> {
        match &self.place {
            Some(place) => place.clear(what),
            None => Ok(Removed::default()),
        }
    }
}

impl Place {
    fn clear(&self, what: Clear<'_>) -> io::Result<Removed> {
        let _lock = self.lock()?;
        let mut index = Index::read(&self.folder);
        let wanted = Wanted::new(what, index.rows());
        let mut removed = Removed::default();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".jsonl").or(name.strip_suffix(".set-aside")) else {
                continue;
            };
            if name == index::FILE {
                continue;
            }
            let whose = self.whose(&name);
            if !wanted.has(stem, whose.as_deref()) {
                continue;
            }
            let bytes = entry.metadata().map(|about| about.len()).unwrap_or_default();
            fs::remove_file(entry.path())?;
            removed.servers.extend(whose);
            removed.files.push((name, bytes));
        }
        let gone = |row: &Row| {
            wanted.is_of(&row.server) || removed.files.iter().any(|(file, _)| *file == row.file)
        };
        let rows = index.remove(gone);
        if !rows.is_empty() {
            self.replace(index::FILE, &index.to_text())?;
        }
        removed.servers.extend(rows.into_iter().map(|row| row.server));
        removed.files.sort();
        self.mark(what, &removed)?;
        Ok(removed)
    }

    /// Whose lists a file has, as far as that can be read.
    fn whose(&self, name: &str) -> Option<String> {
        let text = self.text(&self.folder.join(name)).ok()??;
        let whose: Whose = serde_json::from_str(text.lines().nth(1)?).ok()?;
        Some(whose.server)
    }

    fn marks(&self) -> Marks {
        let text = self.text(&self.folder.join(CLEARED)).ok().flatten();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn mark(&self, what: Clear<'_>, removed: &Removed) -> io::Result<()> {
        let now = Timestamp::from_millisecond(millis(SystemTime::now())).unwrap_or_default();
        let mut marks = self.marks();
        marks.v = 1;
        let named: &[String] = match what {
            Clear::All(known) => known,
            Clear::One { server, .. } => &[server.to_owned()],
        };
        let all = named.iter().chain(&removed.servers);
        marks.servers.extend(all.map(|server| (server.clone(), now)));
        while marks.servers.len() > MAX_CLEARED {
            let oldest = marks.servers.iter().min_by_key(|(_, at)| **at);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else { break };
            marks.servers.remove(&name);
        }
        self.replace(CLEARED, &serde_json::to_string(&marks)?)
    }
}

/// Which files and rows go.
struct Wanted<'a> {
    /// Absent: all.
    server: Option<&'a str>,
    fingerprints: Vec<String>,
}

impl<'a> Wanted<'a> {
    fn new(what: Clear<'a>, rows: &[Row]) -> Self {
        let Clear::One { server, fingerprint } = what else {
            return Self { server: None, fingerprints: Vec::new() };
        };
        let own = rows.iter().filter(|row| row.server == server);
        let own = own.map(|row| row.fingerprint.clone());
        let fingerprints = own.chain(fingerprint.map(str::to_owned)).collect();
        Self { server: Some(server), fingerprints }
    }

    fn is_of(&self, server: &str) -> bool {
        self.server.is_none_or(|wanted| wanted == server)
    }

    /// The name of a file begins with the fingerprint. Another entry with the same one reads the same
    /// files, and would bring them back.
    fn has(&self, stem: &str, whose: Option<&str>) -> bool {
        let begins = |fingerprint: &String| {
            stem.strip_prefix(fingerprint.as_str()).is_some_and(|rest| rest.starts_with('-'))
        };
        self.server.is_none()
            || whose.is_some_and(|whose| self.is_of(whose))
            || self.fingerprints.iter().any(begins)
    }
}

#[cfg(test)]
mod tests;
