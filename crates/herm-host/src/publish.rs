//! From what a server listed to what is offered: read, judged, filtered, named, published.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use herm_core::catalog::{Advertised, HiddenUtility, schema, select, utilities, utility};
use herm_core::config::{Revision, Server};
use herm_core::era::Wire;
use herm_core::gate::admit::{CallFacts, Hint, Standing};
use herm_core::name::{NamedTool, ServerName, Utility};
use herm_core::wire::Raw;
use herm_core::wire::headers::{self, HeaderParam};
use herm_core::wire::view::{self, ItemView, Opened, ToolView};

use crate::catalogue::{Hidden, Listing, ReadAt, Served, Tool};
use crate::context::Context;
use crate::redact::Redactor;
use crate::session::Session;
use crate::session::list::Lists;
use crate::store::names::{Named, part};

/// What a server offers, unfiltered, and how it was reached.
#[derive(Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) revision: Revision,
    pub(crate) wire: Wire,
    pub(crate) lists: Lists,
    /// When it was listed; its source.
    pub(crate) read: ReadAt,
}

impl<'a> Offer<'a> {
    /// What a session has just listed.
    pub(crate) fn of(session: &'a Session, lists: Lists, at: SystemTime) -> Self {
        Self {
            opened: &session.opened,
            revision: session.revision,
            wire: session.wire,
            lists,
            read: ReadAt::Live(at),
        }
    }
}

/// Publishes a whole listing, never half of one. Waits for the disk if it has tools whose names are new.
pub(crate) async fn publish(context: &Arc<Context>, server: &Arc<Server>, offer: &Offer<'_>) {
    let found = Found::read(&offer.lists.tools, &server.name);
    let named = match context.names.known(server, &found.raw()) {
        Some(named) => named,
        None => {
            let raw: Vec<String> = found.raw().into_iter().map(str::to_owned).collect();
            let server = Arc::clone(server);
            let named = context.before_a_start(move |context| {
                let raw: Vec<&str> = raw.iter().map(String::as_str).collect();
                context.names.of(&server, &raw)
            });
            let Some(named) = named.await else { return }; // the program ends
            named
        }
    };
    let listing = listing(context, server, offer, (found, named));
    context.registry.publish(vec![(server.name.clone(), listing)], &context.world().order);
}

/// What is offered of what a server has. Blocks where [`publish`] waits.
pub(crate) fn listing_now(context: &Context, server: &Server, offer: &Offer<'_>) -> Listing {
    let found = Found::read(&offer.lists.tools, &server.name);
    let raw = found.raw();
    let named = context.names.known(server, &raw);
    let named = named.unwrap_or_else(|| context.names.of(server, &raw));
    listing(context, server, offer, (found, named))
}

/// The tools that can be read, in the server's order, and the others.
struct Found {
    views: Vec<ToolView>,
    hidden: Vec<Hidden>,
}

impl Found {
    /// A tool that cannot be read costs no other.
    fn read(tools: &[Raw], server: &ServerName) -> Self {
        let mut seen: HashSet<&str> = HashSet::with_capacity(tools.len());
        let (mut views, mut hidden) = (Vec::new(), Vec::new());
        for (place, raw) in tools.iter().enumerate() {
            // The same definition again is no news: a cursor that came twice brings whole pages of it.
            if !seen.insert(raw.get()) {
                continue;
            }
            match view::tool(raw) {
                Ok(view) => views.push(view),
                Err(reason) => {
                    let (server, tool) =
                        (server.clone(), format!("tool {} of the list", place + 1));
                    hidden.push(Hidden { server, tool, name: None, reason });
                }
            }
        }
        Self { views, hidden }
    }

    fn raw(&self) -> Vec<&str> {
        self.views.iter().map(|view| view.name.as_str()).collect()
    }
}

/// Judged, filtered, named.
fn listing(
    context: &Context,
    server: &Server,
    offer: &Offer<'_>,
    (found, (named, skipped)): (Found, Named),
) -> Listing {
    let lists = &offer.lists;
    let mut listing = Listing {
        warnings: redacted(context, server, lists.warnings.clone()),
        instructions: offer.opened.instructions.clone(),
        read: offer.read,
        hints: lists.hints,
        is_modern: !offer.revision.is_handshake(),
        // Each tool once, however often its page came.
        known: found.views.len() + found.hidden.len(),
        hidden: found.hidden,
        ..Listing::default()
    };
    let mut hide = Hide { server: &server.name, hidden: &mut listing.hidden };
    for skipped in skipped {
        hide.tool(skipped.raw, None, skipped.why.to_string());
    }
    let ours = decide_on_utilities(server, offer.opened, &named);
    let selection = select(&named, &server.tools);
    let mut views: Vec<Option<ToolView>> = found.views.into_iter().map(Some).collect();
    for (tool, hidden) in named.into_iter().zip(selection.hidden) {
        let Some(view) = views.get_mut(tool.index).and_then(Option::take) else { continue };
        let judged = hidden.map_or_else(|| judge(offer, view), |why| Err(why.to_string()));
        match judged {
            Ok((view, mirrored)) => {
                let (name, server, served) = (tool.exposed, server.name.clone(), Served::Server);
                let kept = offer.read.is_kept();
                listing.tools.push(Arc::new(Tool { name, server, served, view, mirrored, kept }));
            }
            Err(why) => hide.tool(tool.raw, Some(tool.exposed), why),
        }
    }
    for (utility, hidden) in ours {
        match hidden {
            Some(why) => listing.withheld.push((utility, why)),
            None => offer_utility(server, utility, &mut listing),
        }
    }
    listing.warnings.extend(selection.warnings);
    listing.resources = items(&lists.resources, "uri", &mut listing.warnings);
    listing.templates = items(&lists.templates, "uriTemplate", &mut listing.warnings);
    listing.prompts = items(&lists.prompts, "name", &mut listing.warnings);
    listing
}

/// Which of our tools over the server's resources and prompts are offered. `named` are all tools of the
/// server, hidden ones too: each keeps its name.
fn decide_on_utilities(
    server: &Server,
    opened: &Opened,
    named: &[NamedTool],
) -> [(Utility, Option<HiddenUtility>); 4] {
    let part = part(server);
    let advertised =
        Advertised { resources: opened.offers("resources"), prompts: opened.offers("prompts") };
    let shadowed = |utility: Utility| {
        let name = utility.exposed(&server.name, &part);
        let takes = |tool: &NamedTool| {
            tool.exposed.eq_ignore_ascii_case(&name) || tool.raw == utility.as_str()
        };
        named.iter().any(takes)
    };
    utilities(&server.tools, advertised, shadowed)
}

fn offer_utility(server: &Server, utility: Utility, listing: &mut Listing) {
    match utility::tool(utility, &server.name) {
        Ok(view) => listing.tools.push(Arc::new(Tool {
            name: utility.exposed(&server.name, &part(server)),
            server: server.name.clone(),
            served: Served::Utility(utility),
            view,
            mirrored: Vec::new(),
            // Ours do not change: a server that has lost the capability says so.
            kept: false,
        })),
        Err(why) => listing.warnings.push(format!("`{}` is left out: {why}", utility.as_str())),
    }
}

/// Warnings quote the server's errors.
fn redacted(context: &Context, server: &Server, mut warnings: Vec<String>) -> Vec<String> {
    if !warnings.is_empty() {
        let redactor = Redactor::new(context, server);
        warnings.iter_mut().for_each(|warning| redactor.text(warning));
    }
    warnings
}

/// Takes note of what is not offered.
struct Hide<'a> {
    server: &'a ServerName,
    hidden: &'a mut Vec<Hidden>,
}

impl Hide<'_> {
    fn tool(&mut self, tool: String, name: Option<String>, reason: String) {
        self.hidden.push(Hidden { server: self.server.clone(), tool, name, reason });
    }
}

/// Whether a tool's schema can be offered, and how.
fn judge(offer: &Offer<'_>, view: ToolView) -> Result<(ToolView, Vec<HeaderParam>), String> {
    let judged = schema::judge(view.input_schema.as_deref());
    if let schema::Judged::Unusable(why) = judged {
        return Err(why);
    }
    let mirrored = match (&view.input_schema, offer.wire) {
        // H-23: an invalid annotation costs the tool on HTTP; standard streams may ignore it.
        (Some(schema), Wire::Streamable) if !offer.revision.is_handshake() => {
            headers::annotations(schema)?
        }
        _ => Vec::new(),
    };
    if matches!(judged, schema::Judged::AsWritten) {
        return Ok((view, mirrored));
    }
    let raw = schema::definition(&view.raw, &judged);
    Ok((ToolView { raw, ..view }, mirrored))
}

fn items(raw: &[Raw], key: &str, warnings: &mut Vec<String>) -> Vec<ItemView> {
    let mut out: Vec<ItemView> = Vec::new();
    let mut seen = HashSet::new();
    for (place, raw) in raw.iter().enumerate() {
        match view::item(raw, key) {
            Ok(item) if seen.insert(item.id.clone()) => out.push(item),
            Ok(_) => {} // the same again
            Err(why) => warnings.push(format!("entry {} by `{key}` is left out: {why}", place + 1)),
        }
    }
    out
}

/// What the admitting gate wants to know of a call.
pub(crate) fn facts<'a>(server: &Server, tool: &'a Tool) -> CallFacts<'a> {
    let read_only = tool.view.read_only == Some(true);
    CallFacts {
        tool: &tool.name,
        standing: Standing::Selected,
        trust: server.trust,
        hint: if read_only { Hint::ReadOnly } else { Hint::MayWrite },
    }
}
