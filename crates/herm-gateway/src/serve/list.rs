//! The list of tools as a client gets it: definitions as their servers wrote them, under their
//! exposed names, each with how fresh it is.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use herm_core::name::ServerName;
use herm_core::wire;
use herm_host::{Catalogue, Freshness, Tool};
use serde_json::json;
use serde_json::value::RawValue;

use crate::object::{Object, quote};

/// More than we add to a definition.
const ADDED: usize = 256;

/// The answer to `tools/list`, one page in the order of the configuration and of each server. It is
/// written into one text that is large enough from the start: it may have megabytes.
pub(super) fn reply(
    id: &RawValue,
    catalogue: &Catalogue,
    freshness: &HashMap<ServerName, Freshness>,
) -> String {
    let size: usize = catalogue.tools().map(|tool| tool.view.raw.get().len() + ADDED).sum();
    wire::ok_reply_with(id, size, |json| {
        json.push_str(r#"{"tools":["#);
        let mut first = true;
        for (server, listing) in &catalogue.servers {
            let freshness = freshness.get(server).copied().unwrap_or(Freshness::Cached);
            for tool in &listing.tools {
                let Some(definition) = definition(tool, freshness) else { continue };
                if !std::mem::take(&mut first) {
                    json.push(',');
                }
                json.push_str(&definition);
            }
        }
        json.push_str("]}");
    })
}

/// What a client sees of a tool, on one line. `None` if it is no object, which no published tool is.
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
    let json = definition.to_json();
    // A server may write its JSON over many lines.
    let many = json.contains(['\n', '\r']);
    Some(if many { wire::compact(&json).into_owned() } else { json })
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
