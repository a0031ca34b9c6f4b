//! What servers offer: tools, resources, prompts.

use herm_core::wire::view::ItemView;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::ui::first_line;

/// Descriptions in tables are cut here.
const MAX_DESCRIPTION: usize = 80;
/// Names are padded to this, longer ones push their description to the right.
const NAME_WIDTH: usize = 36;

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
