//! Between the catalogue and the disk: what a session has listed is kept, and what is kept is offered
//! before there is a session.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herm_core::catalog::StoredLists;
use herm_core::catalog::foreign::ForeignEntry;
use herm_core::config::{HttpKind, Revision, Server, Transport, compat_fingerprint};
use herm_core::era::Wire;
use herm_core::name::ServerName;

use crate::catalogue::{Listing, ReadAt};
use crate::context::{Context, World};
use crate::event::Event;
use crate::publish::{self, Offer};
use crate::session::Session;
use crate::session::list::Lists;
use crate::store::catalogs::{Identity, millis};
use crate::store::ledgers::Entry;

/// Whose lists those of a server are, with the variables of `world`, which `entry` was resolved in; `None`
/// where nothing is kept or a variable has no value.
pub(crate) fn identity(context: &Context, world: &World, entry: &Entry) -> Option<Identity> {
    let inherited = match &entry.server.transport {
        Transport::Stdio(stdio) => {
            let value = |name: &String| (name.clone(), world.variable(name));
            stdio.pass_env.iter().map(value).collect()
        }
        _ => Vec::new(),
    };
    context.catalogs.identity(entry, &inherited)
}

/// What a session of this generation has listed, in the form that is kept; `None` where nothing is.
pub(crate) fn stored(
    server: &Server,
    session: &Session,
    (lists, generation): (&Lists, u64),
    at: SystemTime,
) -> Option<StoredLists> {
    let Identity { fingerprint, mac } = session.kept_as.clone()?;
    Some(StoredLists {
        fingerprint,
        mac,
        server: server.name.to_string(),
        revision: session.revision,
        wire: session.wire,
        opened: session.opened.clone(),
        generation,
        listed_at_ms: millis(at),
        hints: lists.hints,
        tools: lists.tools.clone(),
        resources: lists.resources.clone(),
        templates: lists.templates.clone(),
        prompts: lists.prompts.clone(),
        warnings: lists.warnings.clone(),
    })
}

/// Keeps lists on disk. What cannot be kept is said, and costs nothing but another listing.
pub(crate) async fn keep(context: Arc<Context>, server: Arc<Server>, lists: StoredLists) {
    let written = context.write(move |context| context.catalogs.write(&lists)).await;
    match written {
        Some(Ok(())) => context.unkept.forget(&server.name),
        Some(Err(why)) => not_kept(&context, &server, why),
        None => context.unkept.forget(&server.name), // the program ends
    }
}

fn not_kept(context: &Context, server: &Server, why: String) {
    context.unkept.note(&server.name, why.clone());
    context.emit(Event::NotKept { server: server.name.clone(), why });
}

/// Offers what is kept of a server, which has no session. True if there is something. Blocks for the
/// reading of one file.
pub(crate) fn recall(context: &Context, server: &Arc<Server>) -> bool {
    let Some(listing) = recalled(context, server) else { return false };
    context.registry.publish(vec![(server.name.clone(), listing)], &context.world().order);
    true
}

/// The same for many servers at once, in one snapshot. With `adopts` what the reference system has kept
/// of those that are not known is taken over. Blocks for the reading of a file each.
pub(crate) fn recall_all(context: &Context, servers: &[Arc<Server>], adopts: bool) {
    let mut listings = Vec::new();
    let mut unknown = Vec::new();
    for server in servers {
        match recalled(context, server) {
            Some(listing) => listings.push((server.name.clone(), listing)),
            None => unknown.push(Arc::clone(server)),
        }
    }
    if adopts {
        listings.extend(adopt(context, &unknown));
    }
    context.registry.publish(listings, &context.world().order);
}

/// What is kept of a server, as it is offered.
fn recalled(context: &Context, server: &Arc<Server>) -> Option<Listing> {
    let world = context.world();
    let entry = world.entry(Arc::clone(server));
    let identity = identity(context, &world, &entry)?;
    match context.catalogs.read(&identity) {
        Ok(kept) => kept.map(|kept| offered(context, server, kept)),
        Err(why) => {
            not_kept(context, server, why);
            None
        }
    }
}

/// What the reference system has kept of these servers, of which we know nothing, but for those whose
/// lists a person has cleared: each once, for it is in our own store then. Blocks.
fn adopt(context: &Context, servers: &[Arc<Server>]) -> Vec<(ServerName, Listing)> {
    let mut out = Vec::new();
    if servers.is_empty() {
        return out;
    }
    let found = context.catalogs.foreign();
    let cleared = if found.is_empty() { BTreeSet::new() } else { context.catalogs.cleared() };
    for found in found {
        let Some(server) = servers.iter().find(|s| s.name.as_str() == found.server) else {
            continue;
        };
        let world = context.world();
        let entry = world.entry(Arc::clone(server));
        let same = |target| compat_fingerprint(server, target) == found.fingerprint;
        if cleared.contains(&found.server) || !entry.target.as_ref().is_some_and(same) {
            continue; // or it was edited since
        }
        let Some(identity) = identity(context, &world, &entry) else { continue };
        let kept = adopted(server, identity, found);
        if let Err(why) = context.catalogs.write(&kept) {
            not_kept(context, server, why);
        }
        out.push((server.name.clone(), offered(context, server, kept)));
    }
    out
}

fn adopted(server: &Server, identity: Identity, found: ForeignEntry) -> StoredLists {
    let wire = match &server.transport {
        Transport::Http(http) if http.kind == HttpKind::Sse => Wire::Sse,
        Transport::Http(_) => Wire::Streamable,
        _ => Wire::Stdio,
    };
    StoredLists {
        fingerprint: identity.fingerprint,
        mac: identity.mac,
        server: server.name.to_string(),
        // It does not say which; what it keeps is what a handshake server lists.
        revision: Revision::NEWEST_HANDSHAKE,
        wire,
        opened: found.opened,
        generation: 0,
        listed_at_ms: found.written_at_ms.unwrap_or_default(),
        hints: found.hints,
        tools: found.tools,
        resources: Vec::new(),
        templates: Vec::new(),
        prompts: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What is kept, as it is offered.
fn offered(context: &Context, server: &Server, kept: StoredLists) -> Listing {
    let since = Duration::from_millis(kept.listed_at_ms.max(0).unsigned_abs());
    let at = SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH);
    let offer = Offer {
        opened: &kept.opened,
        revision: kept.revision,
        wire: kept.wire,
        lists: Lists {
            tools: kept.tools,
            resources: kept.resources,
            templates: kept.templates,
            prompts: kept.prompts,
            warnings: kept.warnings,
            hints: kept.hints,
        },
        read: ReadAt::Kept(at),
    };
    publish::listing_now(context, server, &offer)
}
