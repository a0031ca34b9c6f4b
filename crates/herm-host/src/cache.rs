//! What is kept on disk of what servers offer, for whoever needs no host: nothing is started or
//! contacted.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herm_core::catalog::{Freshness, Standing, freshness};
use herm_core::config::{Server, fingerprint};
use herm_core::lifecycle::{Ledger, Policy};
use herm_core::name::ServerName;

use crate::answer::Answerer;
use crate::catalogue::Catalogue;
use crate::context::{Context, Kept};
use crate::host::{Setup, world};
use crate::keep;
use crate::store::catalogs::clear::Clear;
use crate::store::catalogs::foreign_file;
use crate::store::ledgers::Found;

/// The kept lists of a configuration's servers.
#[derive(Debug)]
pub struct Cache {
    context: Context,
    servers: Vec<Arc<Server>>,
}

/// What is kept of some servers, as a host would offer it.
#[derive(Debug)]
pub struct Recalled {
    /// Their lists. A server whose lists are not kept for the variables as they are is not in it.
    pub catalogue: Arc<Catalogue>,
    /// How far each of them can be relied on.
    pub freshness: Vec<(ServerName, Freshness)>,
    /// Lists that cannot be used, and why.
    pub faults: Vec<(ServerName, String)>,
}

/// One server of the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CacheEntry {
    /// Its name when it was listed; it may be configured no longer.
    pub server: String,
    /// Of the connection that was listed.
    pub fingerprint: String,
    /// The name of the file.
    pub file: String,
    /// Its bytes; absent: it is gone.
    pub bytes: Option<u64>,
    /// How many tools the server has, hidden ones too.
    pub tools: usize,
    /// The revision that was spoken, such as `2025-11-25`.
    pub protocol: String,
    /// Of the session that was listed; 0 for lists that another program has read.
    pub generation: u64,
    /// When it was listed, if anybody knows.
    pub listed_at: Option<SystemTime>,
}

/// What was removed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Cleared {
    /// The servers whose lists are gone: several may share a file.
    pub servers: Vec<String>,
    /// The files, each with its bytes.
    pub files: Vec<(String, u64)>,
}

impl Cache {
    /// What is kept for these servers, with these variables. Reads two small files.
    #[must_use]
    pub fn open(mut setup: Setup) -> Self {
        let world = world(&mut setup);
        let cache = setup.cache.take().filter(|cache| holds_any(cache));
        let kept = Kept { state: setup.state, cache, configured: setup.configured, helper: None };
        let context = Context::new(world, Answerer::None, kept, setup.safe_mode);
        Self { context, servers: setup.servers.into_iter().map(Arc::new).collect() }
    }

    /// What is kept of these servers, disabled ones too; a list that cannot be used is set aside. With
    /// `adopts` what a Hermes home keeps of those that are not known is taken over, as a host does.
    /// Blocks for the reading of a file each.
    #[must_use]
    pub fn recall(&self, names: &[ServerName], adopts: bool) -> Recalled {
        let wanted = self.servers.iter().filter(|server| names.contains(&server.name));
        let wanted: Vec<Arc<Server>> = wanted.cloned().collect();
        keep::recall_all(&self.context, &wanted, adopts);
        let catalogue = self.context.registry.snapshot();
        let faults = wanted.iter().filter_map(|server| {
            Some((server.name.clone(), self.context.unkept.why(&server.name)?))
        });
        Recalled { faults: faults.collect(), freshness: self.freshness(&catalogue), catalogue }
    }

    /// Nothing of them runs here, so what is remembered of their failures says how they stand.
    fn freshness(&self, catalogue: &Catalogue) -> Vec<(ServerName, Freshness)> {
        let world = self.context.world();
        let known = self.servers.iter().filter_map(|server| {
            let listing = catalogue.server(&server.name)?;
            Some((world.entry(Arc::clone(server)), listing))
        });
        let (entries, listings): (Vec<_>, Vec<_>) = known.unzip();
        let found = self.context.ledgers.look_up(&entries);
        let now = self.context.clock.now();
        let each = entries.iter().zip(listings).zip(found).map(|((entry, listing), found)| {
            let ledger = match found {
                Found::Known(ledger) => ledger,
                Found::Proven(_) | Found::Gone | Found::Nothing => Ledger::default(),
            };
            let standing = Standing::remembered(&ledger, now, &Policy::of(&entry.server, false));
            let (hints, age) = (listing.hints, listing.read.age());
            let fresh = freshness(standing, hints, listing.is_modern, age);
            (entry.server.name.clone(), fresh)
        });
        each.collect()
    }

    /// All that is kept, by the index, also of servers that are configured no longer.
    #[must_use]
    pub fn entries(&self) -> Vec<CacheEntry> {
        let since = |ms: i64| Duration::from_millis(ms.max(0).unsigned_abs());
        let at = |ms: i64| SystemTime::UNIX_EPOCH.checked_add(since(ms)).filter(|_| ms > 0);
        let kept = self.context.catalogs.kept().into_iter().map(|kept| CacheEntry {
            listed_at: at(kept.listed_at_ms),
            server: kept.server,
            fingerprint: kept.fingerprint,
            file: kept.file,
            bytes: kept.bytes,
            tools: kept.tools,
            protocol: kept.revision,
            generation: kept.generation,
        });
        kept.collect()
    }

    /// Removes what is kept of one server, whatever the values of its variables were, or of all. What
    /// a Hermes home keeps of them is not taken over any more. A host that runs keeps what it holds in
    /// memory. Blocks.
    ///
    /// # Errors
    /// Of the disk.
    pub fn clear(&self, server: Option<&str>) -> io::Result<Cleared> {
        let known: Vec<String> = self.servers.iter().map(|one| one.name.to_string()).collect();
        let entry = self.servers.iter().find(|one| Some(one.name.as_str()) == server);
        let fingerprint = entry.map(|server| fingerprint(server));
        let what = match server {
            None => Clear::All(&known),
            Some(server) => Clear::One { server, fingerprint: fingerprint.as_deref() },
        };
        let removed = self.context.catalogs.clear(what)?;
        Ok(Cleared { servers: removed.servers.into_iter().collect(), files: removed.files })
    }
}

/// Whether there is anything to look at: a command that only reads leaves nothing behind.
fn holds_any(cache: &Path) -> bool {
    cache.join("catalog").is_dir() || foreign_file(cache).is_file()
}
