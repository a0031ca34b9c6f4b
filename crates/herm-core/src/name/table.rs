//! Published names, which stay: the content of `names.json`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::ServerName;
use super::exposed::{LONGEST, ServerPart, clean, hashed, is_of, whole};

/// Names kept of one server. A server that renames its tools all the time must not fill the disk.
const KEPT: usize = 20_000;

/// Every name that was ever published, by server. It wins over the rule until the entry is removed,
/// so that order, neighbours, restarts and late-comers move nothing.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct NameTable {
    /// By the server's name.
    #[serde(default)]
    servers: BTreeMap<String, Published>,
}

/// The names of one server.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
struct Published {
    /// The server's part when they were published; another one starts them over.
    part: String,
    /// Raw name to exposed name.
    tools: BTreeMap<String, String>,
    /// See [`NameTable::keep`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keep: bool,
}

/// A tool and what it is called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamedTool {
    /// Its place in the list that was given.
    pub index: usize,
    /// The server's name for it, byte for byte.
    pub raw: String,
    /// Ours.
    pub exposed: String,
}

/// A tool that gets no name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Skipped {
    /// Its place in the list that was given.
    pub index: usize,
    /// The server's name for it.
    pub raw: String,
    /// Why.
    pub why: Skip,
}

/// Why a tool gets no name.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Skip {
    /// Its own name is empty.
    #[error("the tool has an empty name")]
    Empty,
    /// The server lists the name twice; the first one counts.
    #[error("the server lists this name more than once; the first one is used")]
    Duplicate,
}

impl NameTable {
    /// Names the tools of one server and keeps the names. The result is in the order given.
    pub fn publish(
        &mut self,
        server: &ServerName,
        part: &ServerPart,
        raws: &[&str],
    ) -> (Vec<NamedTool>, Vec<Skipped>) {
        let (wanted, skipped) = distinct(raws);
        let published = self.servers.entry(server.as_str().to_owned()).or_default();
        if published.part != part.as_str() {
            published.part = part.as_str().to_owned();
            published.tools.clear();
        }
        let current: BTreeSet<&str> = wanted.iter().map(|(_, raw)| *raw).collect();
        published.add(server, part, &current);
        let named = wanted.into_iter().filter_map(|(index, raw)| {
            let exposed = published.tools.get(raw)?.clone();
            Some(NamedTool { index, raw: raw.to_owned(), exposed })
        });
        let named = named.collect();
        published.shed(&current);
        (named, skipped)
    }

    /// What was published of one server, as a table of its own.
    #[must_use]
    pub fn of(&self, server: &ServerName) -> Self {
        let found = self.servers.get_key_value(server.as_str());
        Self {
            servers: found.map(|(name, kept)| (name.clone(), kept.clone())).into_iter().collect(),
        }
    }

    /// Takes over all servers of another table, in the place of what was known of them.
    pub fn take(&mut self, other: Self) {
        self.servers.extend(other.servers);
    }

    /// Keeps the names of this server whatever [`NameTable::retain`] is told: another configuration
    /// than the one that it goes by has the server, and may be in use again.
    pub fn keep(&mut self, server: &ServerName) {
        if let Some(published) = self.servers.get_mut(server.as_str()) {
            published.keep = true;
        }
    }

    /// Forgets the servers that are configured no longer, but for those that are kept. True if there
    /// were any.
    pub fn retain(&mut self, configured: impl Fn(&str) -> bool) -> bool {
        let before = self.servers.len();
        self.servers.retain(|server, published| published.keep || configured(server));
        self.servers.len() < before
    }

    /// Server and raw name of an exposed name, as far as it was published.
    #[must_use]
    pub fn find(&self, exposed: &str) -> Option<(&str, &str)> {
        self.servers.iter().find_map(|(server, published)| {
            let (raw, _) = published.tools.iter().find(|(_, name)| *name == exposed)?;
            Some((server.as_str(), raw.as_str()))
        })
    }
}

impl Published {
    /// Gives each new raw name a name that is free, ignoring case.
    fn add(&mut self, server: &ServerName, part: &ServerPart, current: &BTreeSet<&str>) {
        // A file that was edited by hand may hold anything.
        self.tools.retain(|_, name| is_of(name, part));
        let mut taken: HashSet<String> = HashSet::new();
        self.tools.retain(|_, name| taken.insert(name.to_ascii_lowercase()));
        let new = current.iter().copied().filter(|raw| !self.tools.contains_key(*raw));
        // Names that need no cleaning come first; then by bytes. So the order of the list is nothing.
        let mut new: Vec<&str> = new.collect();
        new.sort_by_cached_key(|raw| (clean(raw) != *raw, *raw));
        let (short, long): (Vec<_>, Vec<_>) = new
            .into_iter()
            .map(|raw| (raw, whole(part, raw)))
            .partition(|(_, name)| name.len() <= LONGEST);
        let mut hash: Vec<&str> = long.into_iter().map(|(raw, _)| raw).collect();
        for (raw, name) in short {
            if taken.insert(name.to_ascii_lowercase()) {
                self.tools.insert(raw.to_owned(), name);
            } else {
                hash.push(raw);
            }
        }
        for raw in hash {
            let mut name = hashed(server, part, raw, "");
            // Two tools with one hash, or a tool that is named like another's hash.
            for salt in 1.. {
                if taken.insert(name.to_ascii_lowercase()) {
                    break;
                }
                name = hashed(server, part, raw, &format!("\0{salt}"));
            }
            self.tools.insert(raw.to_owned(), name);
        }
    }

    /// Over the bound only the current names stay.
    fn shed(&mut self, current: &BTreeSet<&str>) {
        if self.tools.len() > KEPT {
            self.tools.retain(|raw, _| current.contains(raw.as_str()));
        }
    }
}

/// The names to give, with their places, and the rest.
fn distinct<'a>(raws: &[&'a str]) -> (Vec<(usize, &'a str)>, Vec<Skipped>) {
    let mut seen = HashSet::new();
    let mut wanted = Vec::new();
    let mut skipped = Vec::new();
    for (index, raw) in raws.iter().copied().enumerate() {
        let why = match () {
            () if raw.is_empty() => Skip::Empty,
            () if !seen.insert(raw) => Skip::Duplicate,
            () => {
                wanted.push((index, raw));
                continue;
            }
        };
        skipped.push(Skipped { index, raw: raw.to_owned(), why });
    }
    (wanted, skipped)
}
