//! Published names, which stay: the content of `names.json`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use litemap::LiteMap;
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
    /// Raw name to exposed name. A sorted list: most servers have a handful.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    tools: LiteMap<Box<str>, Box<str>>,
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
    /// The names of the tools of one server, in the order given, if each was published and none is new;
    /// `keep`: and [`NameTable::keep`] has nothing to do.
    #[must_use]
    pub fn known(
        &self,
        server: &ServerName,
        part: &ServerPart,
        raws: &[&str],
        keep: bool,
    ) -> Option<(Vec<NamedTool>, Vec<Skipped>)> {
        let published = self.servers.get(server.as_str())?;
        let is_kept = published.keep || !keep;
        if published.part != part.as_str() || published.tools.len() > KEPT || !is_kept {
            return None;
        }
        let (wanted, skipped) = distinct(raws);
        let named = wanted.into_iter().map(|(index, raw)| {
            // A file that was edited by hand may hold anything.
            let exposed = published.tools.get(raw).filter(|name| is_of(name, part))?;
            Some(NamedTool { index, raw: raw.to_owned(), exposed: String::from(&**exposed) })
        });
        let named: Vec<NamedTool> = named.collect::<Option<_>>()?;
        let mut taken = HashSet::new();
        let is_free = |tool: &NamedTool| taken.insert(tool.exposed.to_ascii_lowercase());
        named.iter().all(is_free).then_some((named, skipped))
    }

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
            published.tools = LiteMap::new_vec();
        }
        let current: BTreeSet<&str> = wanted.iter().map(|(_, raw)| *raw).collect();
        published.add(server, part, &current);
        let named = wanted.into_iter().filter_map(|(index, raw)| {
            let exposed = String::from(&**published.tools.get(raw)?);
            Some(NamedTool { index, raw: raw.to_owned(), exposed })
        });
        let named = named.collect();
        published.shed(&current);
        (named, skipped)
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
            let (raw, _) = published.tools.iter().find(|(_, name)| ***name == *exposed)?;
            Some((server.as_str(), &**raw))
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
        let mut added: Vec<(Box<str>, Box<str>)> = Vec::new();
        for (raw, name) in short {
            if taken.insert(name.to_ascii_lowercase()) {
                added.push((raw.into(), name.into()));
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
            added.push((raw.into(), name.into()));
        }
        self.tools.extend(added);
    }

    /// Over the bound only the current names stay.
    fn shed(&mut self, current: &BTreeSet<&str>) {
        if self.tools.len() > KEPT {
            self.tools.retain(|raw, _| current.contains(&**raw));
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
