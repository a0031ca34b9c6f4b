//! Reading all that a server offers: every list to its end, within one deadline.

use std::time::Duration;

use futures_util::future::join4;
use herm_core::catalog::{CacheScope, Hints};
use herm_core::paging::{Drain, Next};
use herm_core::wire::params::{Dress, Params};
use herm_core::wire::view::{self, Page};
use herm_core::wire::{Raw, codes};
use tokio::time::Instant;

use super::Session;
use super::call::Failure;
use super::open::modern_headers;
use super::peer::Ask;
use crate::refusal::{Cause, Deadline};

/// Everything a server lists, as written.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) tools: Vec<Raw>,
    pub(crate) resources: Vec<Raw>,
    pub(crate) templates: Vec<Raw>,
    pub(crate) prompts: Vec<Raw>,
    /// Lists that were cut, or that the server would not give.
    pub(crate) warnings: Vec<String>,
    /// What the server says of their life, over all pages.
    pub(crate) hints: Hints,
}

/// One list of the protocol.
#[derive(Clone, Copy, Debug)]
struct Kind {
    method: &'static str,
    key: &'static str,
    capability: &'static str,
}

const TOOLS: Kind = Kind { method: "tools/list", key: "tools", capability: "tools" };
const RESOURCES: Kind =
    Kind { method: "resources/list", key: "resources", capability: "resources" };
const TEMPLATES: Kind =
    Kind { method: "resources/templates/list", key: "resourceTemplates", capability: "resources" };
const PROMPTS: Kind = Kind { method: "prompts/list", key: "prompts", capability: "prompts" };

/// Drains all lists side by side. Fails if the tools cannot be listed, or a list gets no answer in
/// time; another list that is refused is a warning.
pub(crate) async fn lists(session: &Session, within: Duration) -> Result<Lists, Cause> {
    let until = Instant::now() + within;
    let (tools, resources, templates, prompts) = join4(
        list(session, TOOLS, until, within),
        list(session, RESOURCES, until, within),
        list(session, TEMPLATES, until, within),
        list(session, PROMPTS, until, within),
    )
    .await;
    let mut out = Lists::default();
    let tools = tools?;
    let mut hints: Vec<Hints> = tools.hints.into_iter().collect();
    out.tools = tools.into_items(&mut out.warnings);
    for (kind, read, into) in [
        (RESOURCES, resources, &mut out.resources),
        (TEMPLATES, templates, &mut out.templates),
        (PROMPTS, prompts, &mut out.prompts),
    ] {
        match read {
            Ok(read) => {
                hints.extend(read.hints);
                *into = read.into_items(&mut out.warnings);
            }
            Err(cause @ (Cause::TimedOut { .. } | Cause::Link(_))) => return Err(cause),
            Err(cause) => out.warnings.push(format!("`{}` is left out: {cause}", kind.method)),
        }
    }
    out.hints = Hints::together(hints).unwrap_or_default();
    Ok(out)
}

/// One list, read.
#[derive(Debug, Default)]
struct Read {
    items: Vec<Raw>,
    warning: Option<String>,
    /// Of its pages; none if there was no page.
    hints: Option<Hints>,
}

impl Read {
    fn into_items(self, warnings: &mut Vec<String>) -> Vec<Raw> {
        warnings.extend(self.warning);
        self.items
    }
}

async fn list(
    session: &Session,
    kind: Kind,
    until: Instant,
    within: Duration,
) -> Result<Read, Cause> {
    // Y-3: only what was negotiated. A server that says nothing of itself is asked for tools.
    let silent = session.opened.capabilities.is_none() && kind.capability == "tools";
    if !session.opened.offers(kind.capability) && !silent {
        return Ok(Read::default());
    }
    let drained = tokio::time::timeout_at(until, drain(session, kind, within)).await;
    match drained {
        Ok(read) => read,
        Err(_) => Err(Cause::TimedOut {
            deadline: Deadline::List,
            after: within,
            method: kind.method.to_owned(),
        }),
    }
}

async fn drain(session: &Session, kind: Kind, within: Duration) -> Result<Read, Cause> {
    let mut restarts = 1;
    'whole: loop {
        let mut read = Read::default();
        let mut pages = Drain::default();
        let mut cursor: Option<String> = None;
        loop {
            let page = match page(session, kind, cursor.as_deref(), within).await {
                Ok(page) => page,
                // N-3: the cursor went stale; once from the beginning.
                Err(Failure::Peer(error))
                    if error.code == codes::INVALID_PARAMS && cursor.is_some() && restarts > 0 =>
                {
                    restarts -= 1;
                    continue 'whole;
                }
                // Y-3: refused in spite of the capability: there is none.
                Err(Failure::Peer(error))
                    if error.code == codes::METHOD_NOT_FOUND && cursor.is_none() =>
                {
                    return Ok(Read::default());
                }
                Err(failure) => return Err(cause(failure, kind.method)),
            };
            pages.weigh(page.items.iter().map(|item| item.get().len()).sum());
            let next = pages.page(page.next.as_deref(), page.items.len());
            let hints = Hints {
                ttl_ms: page.ttl_ms.map(|ms| ms.max(0).unsigned_abs()),
                scope: CacheScope::of(page.cache_scope.as_deref()),
            };
            read.hints = Hints::together(read.hints.into_iter().chain([hints]));
            read.items.extend(page.items);
            match next {
                Next::Ask(next) => cursor = Some(next),
                Next::Stopped(why) => {
                    read.warning = Some(format!("`{}` was ended: {why}", kind.method));
                    return Ok(read);
                }
                _ => return Ok(read),
            }
        }
    }
}

async fn page(
    session: &Session,
    kind: Kind,
    cursor: Option<&str>,
    within: Duration,
) -> Result<Page, Failure> {
    let mut ask = Ask::own(kind.method, within, Deadline::List);
    ask.headers = modern_headers(session.revision, kind.method, None);
    let result = session
        .peer
        .request(ask, |_| {
            let mut params = Params::new();
            if let Some(cursor) = cursor {
                params = params.text("cursor", cursor);
            }
            let dress = Dress {
                revision: session.revision,
                capabilities: "{}",
                progress_token: None,
                meta: None,
            };
            params.dressed(&dress)
        })
        .await?;
    view::page(&result, kind.key).map_err(|why| {
        Failure::BadReply(format!("its answer to `{}` is no list: {why}", kind.method))
    })
}

/// A failed request of the host's own, as a cause.
pub(crate) fn cause(failure: Failure, method: &str) -> Cause {
    match failure {
        Failure::Peer(error) => Cause::Peer { method: method.to_owned(), error },
        Failure::Link { error, .. } => Cause::Link(error),
        Failure::BadReply(why) => Cause::Protocol(why),
        Failure::TimedOut { deadline, after } => {
            Cause::TimedOut { deadline, after, method: method.to_owned() }
        }
        Failure::Busy { .. } => Cause::Protocol("too many requests wait for it".to_owned()),
    }
}
