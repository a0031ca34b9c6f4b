//! From what a server listed to what is offered: read, judged, filtered, named, published.

use std::collections::HashSet;
use std::sync::Arc;

use herm_core::catalog::schema;
use herm_core::config::Server;
use herm_core::era::Wire;
use herm_core::gate::admit::{CallFacts, Hint, Standing};
use herm_core::wire::headers::{self, HeaderParam};
use herm_core::wire::view::{self, ItemView, ToolView};
use herm_core::wire::Raw;

use crate::catalogue::{Hidden, Listing, Tool};
use crate::context::Context;
use crate::session::Session;
use crate::session::list::Lists;

/// A tool that passed, before it has its name.
type Passed = (ToolView, Vec<HeaderParam>);

/// Publishes a whole listing. Never half of one.
pub(crate) fn publish(context: &Context, server: &Server, session: &Session, lists: Lists) {
    let mut listing = Listing {
        known: lists.tools.len(),
        warnings: lists.warnings,
        instructions: session.opened.instructions.clone(),
        ..Listing::default()
    };
    let passed = pass(server, session, &lists.tools, &mut listing);
    let raw: Vec<&str> = passed.iter().map(|(view, _)| view.name.as_str()).collect();
    let (named, skipped) = context.names.of(server, &raw);
    for skipped in skipped {
        let (server, tool) = (server.name.clone(), skipped.raw);
        listing.hidden.push(Hidden { server, tool, reason: skipped.why.to_string() });
    }
    let mut passed: Vec<Option<Passed>> = passed.into_iter().map(Some).collect();
    for tool in named {
        if let Some((view, mirrored)) = passed.get_mut(tool.index).and_then(Option::take) {
            let (name, server) = (tool.exposed, server.name.clone());
            listing.tools.push(Arc::new(Tool { name, server, view, mirrored }));
        }
    }
    listing.resources = items(&lists.resources, "uri", &mut listing.warnings);
    listing.templates = items(&lists.templates, "uriTemplate", &mut listing.warnings);
    listing.prompts = items(&lists.prompts, "name", &mut listing.warnings);
    context.registry.publish(&server.name, listing, &context.order);
}

/// The tools that may be offered; the others are hidden, each with its reason.
fn pass(
    server: &Server,
    session: &Session,
    tools: &[Raw],
    listing: &mut Listing,
) -> Vec<Passed> {
    let mut passed: Vec<Passed> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    let mut all: Vec<String> = Vec::new();
    for (place, raw) in tools.iter().enumerate() {
        // The same definition again is no news: a cursor that came twice brings whole pages of it.
        if !seen.insert(raw.get()) {
            continue;
        }
        let judged = view::tool(raw)
            .map_err(|why| (format!("tool {}", place + 1), why))
            .and_then(|view| {
                all.push(view.name.clone());
                judge(server, session, view)
            });
        match judged {
            Ok(tool) => passed.push(tool),
            Err((tool, reason)) => {
                listing.hidden.push(Hidden { server: server.name.clone(), tool, reason });
            }
        }
    }
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    listing.warnings.extend(crate::interim::select_warnings(server, &names));
    passed
}

fn judge(server: &Server, session: &Session, view: ToolView) -> Result<Passed, (String, String)> {
    let hide = |view: &ToolView, why: String| (view.name.clone(), why);
    if let Err(why) = crate::interim::select_tool(server, &view.name) {
        return Err(hide(&view, why));
    }
    let judged = schema::judge(view.input_schema.as_deref());
    if let schema::Judged::Unusable(why) = judged {
        return Err(hide(&view, why));
    }
    let mirrored = match (&view.input_schema, session.wire) {
        // H-23: an invalid annotation costs the tool on HTTP; standard streams may ignore it.
        (Some(schema), Wire::Streamable) if session.is_modern() => {
            headers::annotations(schema).map_err(|why| hide(&view, why))?
        }
        _ => Vec::new(),
    };
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
