//! The list of tools as a client gets it: definitions as their servers wrote them, under their
//! exposed names, each with how fresh it is.

use std::hash::{DefaultHasher, Hash, Hasher};

use herm_host::{Catalogue, Freshness, ServerStatus, Tool};
use serde_json::json;

use crate::object::{Object, quote};

/// The result of `tools/list`, one page in the order of the configuration and of each server.
pub(super) fn tools(catalogue: &Catalogue, status: &[ServerStatus]) -> String {
    let mut json = r#"{"tools":["#.to_owned();
    let mut first = true;
    for (server, listing) in &catalogue.servers {
        let found = status.iter().find(|status| status.name == *server);
        let freshness = found.map_or(Freshness::Cached, |status| status.freshness);
        for tool in &listing.tools {
            let Some(definition) = definition(tool, freshness) else { continue };
            if !std::mem::take(&mut first) {
                json.push(',');
            }
            json.push_str(&definition);
        }
    }
    json.push_str("]}");
    json
}

/// What a client sees of a tool. `None` if it is no object, which no published tool is.
fn definition(tool: &Tool, freshness: Freshness) -> Option<String> {
    let mut definition = Object::read(tool.view.raw.get())?;
    definition.set("name", &quote(&tool.name));
    let mut meta = match definition.get("_meta").map(|meta| meta.get()) {
        Some(meta) => Object::read(meta).unwrap_or_default(),
        None => Object::default(),
    };
    meta.set("herm/server", &quote(tool.server.as_str()));
    meta.set("herm/tool", &quote(&tool.view.name));
    meta.set("herm/freshness", &json!(freshness.as_str()).to_string());
    definition.set("_meta", &meta.to_json());
    Some(definition.to_json())
}

/// What tells two lists apart; how fresh they are does not.
pub(super) fn digest(catalogue: &Catalogue) -> u64 {
    let mut hasher = DefaultHasher::new();
    for tool in catalogue.tools() {
        tool.name.hash(&mut hasher);
        tool.view.raw.get().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::definition;
    use herm_core::wire::view;
    use herm_host::{Freshness, Tool};
    use serde_json::value::RawValue;

    #[test]
    fn a_definition_keeps_all_but_its_name() {
        let raw = r#"{"x-later":[1.0, 2],"name":"list-items","inputSchema":{ "type":"object","$defs":{"a":{}}},"_meta":{"own":1e2}}"#;
        let raw = RawValue::from_string(raw.to_owned()).unwrap();
        let tool = Tool {
            name: "mcp__my_api__list_items".to_owned(),
            server: "my-api".parse().unwrap(),
            view: view::tool(&raw).unwrap(),
            mirrored: Vec::new(),
            kept: false,
            served: herm_host::Served::Server,
        };
        insta::assert_snapshot!(definition(&tool, Freshness::Live).unwrap(), @r#"{"x-later":[1.0, 2],"name":"mcp__my_api__list_items","inputSchema":{ "type":"object","$defs":{"a":{}}},"_meta":{"own":1e2,"herm/server":"my-api","herm/tool":"list-items","herm/freshness":"live"}}"#);
    }
}
