//! What servers offer: tools, resources, prompts.

use herm_core::wire::view::ItemView;
use herm_host::{Catalogue, Hidden, Tool};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Asked, V};
use crate::ui::first_line;

/// Descriptions in tables are cut here.
const MAX_DESCRIPTION: usize = 80;
/// Names are padded to this, longer ones push their description to the right.
const NAME_WIDTH: usize = 36;

/// The document of `tools`.
#[derive(Debug, Serialize)]
pub(crate) struct ToolsDocument<'a> {
    pub(crate) v: u8,
    pub(crate) tools: Vec<ToolDocument<'a>>,
    pub(crate) hidden: Vec<HiddenDocument<'a>>,
    pub(crate) servers: Vec<Asked>,
}

/// One tool.
#[derive(Debug, Serialize)]
pub(crate) struct ToolDocument<'a> {
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    title: Option<&'a str>,
    description: Option<&'a str>,
    freshness: &'static str,
    definition: Option<&'a RawValue>,
}

/// One tool that is not offered.
#[derive(Debug, Serialize)]
pub(crate) struct HiddenDocument<'a> {
    server: &'a str,
    tool: &'a str,
    reason: &'a str,
}

impl<'a> ToolsDocument<'a> {
    pub(crate) fn new(catalogue: &'a Catalogue, schema: bool, servers: Vec<Asked>) -> Self {
        let hidden = catalogue.servers.iter().flat_map(|(_, listing)| &listing.hidden);
        Self {
            v: V,
            tools: catalogue.tools().map(|tool| tool_document(tool, schema)).collect(),
            hidden: hidden.map(hidden_document).collect(),
            servers,
        }
    }
}

/// One tool; its whole definition if `schema`.
pub(crate) fn tool_document(tool: &Tool, schema: bool) -> ToolDocument<'_> {
    ToolDocument {
        name: &tool.name,
        server: tool.server.as_str(),
        tool: &tool.view.name,
        title: tool.view.title.as_deref(),
        description: tool.view.description.as_deref(),
        freshness: "live",
        definition: schema.then_some(&*tool.view.raw),
    }
}

fn hidden_document(hidden: &Hidden) -> HiddenDocument<'_> {
    HiddenDocument { server: hidden.server.as_str(), tool: &hidden.tool, reason: &hidden.reason }
}

/// One line: a name and the first line of what it does.
pub(crate) fn row(name: &str, description: Option<&str>) -> String {
    let name = name.replace(['\n', '\t'], " ");
    let description = first_line(description.unwrap_or_default(), MAX_DESCRIPTION);
    format!("{name:<NAME_WIDTH$} {description}").trim_end().to_owned()
}

/// One resource, template or prompt, for `resources` and `prompts`.
#[derive(Debug, Serialize)]
pub(crate) struct ItemDocument<'a> {
    /// The URI, the template of URIs, or the name.
    pub(crate) id: &'a str,
    server: &'a str,
    name: Option<&'a str>,
    title: Option<&'a str>,
    description: Option<&'a str>,
    definition: &'a RawValue,
}

/// One item of a server.
pub(crate) fn item<'a>(server: &'a str, view: &'a ItemView) -> ItemDocument<'a> {
    ItemDocument {
        id: &view.id,
        server,
        name: view.name.as_deref(),
        title: view.title.as_deref(),
        description: view.description.as_deref(),
        definition: &view.raw,
    }
}
