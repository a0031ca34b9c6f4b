//! Calls of our own tools over a server's resources and prompts. Lists are answered from the
//! published catalogue; the rest is a fetch like any other.

use herm_core::catalog::utility::{self, Asked};
use herm_core::name::Utility;
use herm_core::wire::Raw;

use super::{Fetch, Terms, fetched};
use crate::catalogue::Listing;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::supervise::Instance;

/// The result of one call, as a tool's.
pub(super) async fn call(
    context: &Context,
    instance: &Instance,
    utility: Utility,
    arguments: &str,
    terms: Terms<'_>,
) -> Result<Raw, Refusal> {
    let asked = utility::asked(utility, arguments);
    let broken = |why| Refusal::Protocol { server: instance.server().name.clone(), why };
    match asked.map_err(|why| Refusal::BadArguments { why })? {
        Asked::Resource(uri) => {
            let fetch = Fetch { method: "resources/read", name: ("uri", &uri), arguments: None };
            let answer = fetched(context, instance, terms, fetch).await?;
            utility::contents(&answer).map_err(broken)
        }
        Asked::Prompt(name, arguments) => {
            let arguments = arguments.as_deref();
            let fetch = Fetch { method: "prompts/get", name: ("name", &name), arguments };
            let answer = fetched(context, instance, terms, fetch).await?;
            utility::messages(&answer).map_err(broken)
        }
        asked => listed(context, instance, &asked),
    }
}

fn listed(context: &Context, instance: &Instance, asked: &Asked) -> Result<Raw, Refusal> {
    let snapshot = context.registry.snapshot();
    let none = Listing::default();
    let listing = snapshot.server(&instance.server().name).map_or(&none, |listing| &**listing);
    let portion = match asked {
        Asked::Resources(offset) => {
            let templates = ("resourceTemplates", &*listing.templates);
            utility::portion(&[("resources", &listing.resources), templates], *offset)
        }
        Asked::Prompts(offset) => utility::portion(&[("prompts", &listing.prompts)], *offset),
        _ => Err(format!("no list is asked for: {asked:?}")),
    };
    portion.map_err(|why| Refusal::Internal { why })
}
