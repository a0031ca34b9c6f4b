//! What each server offers, kept: a file of its whole lists by fingerprint and authorization context,
//! and an index by server name.
//!
//! It is a cache. A writer replaces a file in one step, under one lock of the folder, and an older
//! listing never replaces a newer one; a writer that is killed loses its own write and nothing else.
//! Nothing is forced to the disk: what a crash of the machine damages shows by its hash, is set aside,
//! and is listed again.

pub(crate) mod clear;
mod index;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use herm_core::catalog::foreign::{ForeignEntry, entries};
use herm_core::catalog::{MAX_BYTES, StoredLists, Unusable};
use herm_core::config::{MacKey, context_mac, fingerprint};

use self::index::{Index, Look, Row};
use super::atomic;
use super::ledgers::Entry;

/// A listing that claims to be from later than this is not believed to be newer than ours.
const AHEAD: Duration = Duration::from_secs(60);
/// Files that no server of the index uses are kept so long: another value of a variable may come back.
const UNUSED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A temporary file that is older was left by a writer that was killed.
const LEFT_OVER: Duration = Duration::from_secs(60 * 60);

/// The folder `catalog/` of the cache, or nothing for a host that keeps nothing.
#[derive(Debug, Default)]
pub(crate) struct Catalogs {
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    key: MacKey,
}

/// Whose lists: the name of the file, and what must be in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    pub(crate) fingerprint: String,
    pub(crate) mac: String,
}

impl Identity {
    fn file(&self) -> String {
        // Enough of the MAC to tell contexts apart; the whole of it is in the file.
        format!("{}-{}.jsonl", self.fingerprint, self.mac.get(..16).unwrap_or_default())
    }
}

impl Catalogs {
    /// The lists in `cache`, told apart by a random key in `state`, which is made at the first time.
    pub(crate) fn open(cache: Option<&Path>, state: Option<&Path>) -> Self {
        let (Some(cache), Some(state)) = (cache, state) else { return Self::default() };
        match key(state) {
            Ok(key) => Self { place: Some(Place { folder: cache.join("catalog"), key }) },
            Err(error) => {
                tracing::warn!(%error, "the lists of servers cannot be kept");
                Self::default()
            }
        }
    }

    /// Whose lists those of `entry` are; `inherited` are the values of its `pass_env`. `None`: nothing
    /// is kept, or a variable has no value.
    pub(crate) fn identity(
        &self,
        entry: &Entry,
        inherited: &[(String, Option<String>)],
    ) -> Option<Identity> {
        let place = self.place.as_ref()?;
        let mac = context_mac(entry.target.as_ref()?, inherited, &place.key);
        Some(Identity { fingerprint: fingerprint(&entry.server), mac })
    }

    /// The lists of a server as they were last read. A file that cannot be used is set aside, and the
    /// reason given. Blocks for the reading of one file.
    pub(crate) fn read(&self, identity: &Identity) -> Result<Option<StoredLists>, String> {
        let Some(place) = &self.place else { return Ok(None) };
        let path = place.folder.join(identity.file());
        if let Ok(lists) = place.lists(&path, identity) {
            return Ok(lists);
        }
        // Under the lock: a writer may have replaced it meanwhile.
        let again = place.lock().map(|lock| (lock, place.lists(&path, identity)));
        let (bad, done) = match again {
            Ok((_lock, Ok(lists))) => return Ok(lists),
            Ok((_lock, Err(bad))) => (bad.to_string(), fs::rename(&path, aside(&path))),
            Err(error) => ("it is damaged".to_owned(), Err(error)),
        };
        let done = match done {
            Ok(()) => format!("was set aside as `{}`", aside(&path).display()),
            Err(error) => format!("could not be set aside ({error})"),
        };
        let path = path.display();
        Err(format!(
            "the kept list `{path}` is not used and {done}: {bad}; the server's next start makes a new one"
        ))
    }

    /// What the reference system has kept, if the home is one of its own. Blocks.
    pub(crate) fn foreign(&self) -> Vec<ForeignEntry> {
        let Some(place) = &self.place else { return Vec::new() };
        let Some(home) = place.folder.parent() else { return Vec::new() };
        let text = place.text(&foreign_file(home));
        text.ok().flatten().map(|text| entries(&text)).unwrap_or_default()
    }

    /// Keeps the lists of a server, unless newer ones are there. Blocks.
    ///
    /// # Errors
    /// Why not, in words.
    pub(crate) fn write(&self, lists: &StoredLists) -> Result<(), String> {
        let Some(place) = &self.place else { return Ok(()) };
        let text = lists.to_text().map_err(|bytes| {
            format!(
                "its lists are not kept: they have {bytes} bytes, and the limit is {} MiB",
                MAX_BYTES >> 20
            )
        })?;
        place.write(lists, &text).map_err(|why| format!("its lists could not be kept: {why}"))
    }
}

impl Place {
    fn text(&self, path: &Path) -> io::Result<Option<String>> {
        let file = match atomic::open(OpenOptions::new().read(true), path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        let limit = MAX_BYTES as u64;
        if file.take(limit + 1).read_to_string(&mut text)? as u64 > limit {
            return Err(io::Error::other("it is too large"));
        }
        Ok(Some(text))
    }

    /// The lists in a file, if there is one.
    fn lists(&self, path: &Path, identity: &Identity) -> Result<Option<StoredLists>, Unusable> {
        let text = self.text(path).map_err(|why| Unusable::Damaged(why.to_string()))?;
        let read = |text: String| StoredLists::read(&text, &identity.fingerprint, &identity.mac);
        text.map(read).transpose()
    }

    fn lock(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        atomic::locked(atomic::open(&mut options, &self.folder.join("lock"))?)
    }

    fn write(&self, lists: &StoredLists, text: &str) -> io::Result<()> {
        let _lock = self.lock()?;
        let identity = Identity { fingerprint: lists.fingerprint.clone(), mac: lists.mac.clone() };
        let row = Row::of(lists, identity.file());
        let look = Look::at(&self.folder, &row);
        if look.has_newer(lists.listed_at_ms, millis(SystemTime::now() + AHEAD)) {
            return Ok(());
        }
        self.replace(row.file(), text)?;
        if !look.is_full() {
            return look.append(&self.folder, &row);
        }
        let mut index = Index::read(&self.folder);
        index.put(row);
        self.replace(index::FILE, &index.to_text())?;
        self.sweep(&index);
        Ok(())
    }

    /// Replaces one file in one step.
    fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(self.folder.join(name)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes what nobody uses any more.
    fn sweep(&self, index: &Index) {
        let Ok(found) = fs::read_dir(&self.folder) else { return };
        for file in found.flatten() {
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            let age = file.metadata().and_then(|about| about.modified());
            let age = age.ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
            let over = if name.starts_with(".tmp") {
                age > LEFT_OVER
            } else {
                name.ends_with(".jsonl") && age > UNUSED && !index.uses(name)
            };
            if over {
                drop(fs::remove_file(file.path()));
            }
        }
    }
}

/// Where the reference system keeps lists, if `cache` is the home of one.
pub(crate) fn foreign_file(cache: &Path) -> PathBuf {
    cache.join("cache/mcp_schema_cache.json")
}

/// Where a file goes that cannot be used.
fn aside(path: &Path) -> PathBuf {
    path.with_extension("set-aside")
}

/// The key of the state folder; made if there is none.
fn key(state: &Path) -> io::Result<MacKey> {
    let file = atomic::Atomic::new(state, "catalog-key.json");
    let held = |key: &KeyFile| MacKey::of(&key.key);
    if let Some(key) = held(&file.content()) {
        return Ok(key);
    }
    let mut made = None;
    file.change(|content: &mut KeyFile| {
        made = held(content); // another process was first
        if made.is_some() {
            return false;
        }
        let mut bytes = [0; 32];
        if getrandom::fill(&mut bytes).is_err() {
            return false;
        }
        *content = KeyFile { v: 1, key: HEXLOWER.encode(&bytes) };
        made = held(content);
        true
    })?;
    made.ok_or_else(|| io::Error::other("there is no randomness for a key"))
}

#[derive(Debug, Default, serde::Deserialize, serde::Serialize)]
struct KeyFile {
    v: u32,
    key: String,
}

/// Milliseconds since 1970.
pub(crate) fn millis(at: SystemTime) -> i64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
