//! Typed views: they read what a decision needs and leave the rest alone.

use serde_json::value::RawValue;

use super::Raw;
use super::json::{
    Member, boolean, elements, integer, is_array, is_null, is_object, member, members,
    members_and_list, owned_text,
};
use crate::config::Revision;

/// One page of a list: its items as written, in order.
#[derive(Debug)]
pub struct Page {
    /// The items.
    pub items: Vec<Raw>,
    /// `nextCursor`: absent and null end the list, an empty text does not (N-1).
    pub next: Option<String>,
    /// `ttlMs` and `cacheScope`, where given.
    pub ttl_ms: Option<i64>,
    /// `cacheScope`.
    pub cache_scope: Option<String>,
}

/// Reads one page; `key` is `tools`, `resources`, `resourceTemplates` or `prompts`.
///
/// # Errors
/// Why the result is no page.
pub fn page(result: &RawValue, key: &str) -> Result<Page, String> {
    let (mut items, mut cursor, mut ttl_ms, mut cache_scope) = (None, None, None, None);
    let whole = members_and_list(result.get(), key, &mut |k, member| match member {
        Member::List(list) => items = Some(list),
        Member::Value(value) => match &*k {
            "nextCursor" => cursor = Some(value).filter(|cursor| !is_null(cursor)),
            "ttlMs" => ttl_ms = integer(value.get()),
            "cacheScope" => cache_scope = owned_text(value),
            _ => {}
        },
    });
    if !is_object(result) {
        return Err("the result is no object".to_owned());
    }
    let items =
        items.filter(|_| whole).ok_or_else(|| format!("the result has no `{key}` array"))?;
    let next = match cursor.map(owned_text) {
        Some(None) => return Err("`nextCursor` is no text".to_owned()),
        Some(next) => next,
        None => None,
    };
    Ok(Page {
        items: items.into_iter().map(RawValue::to_owned).collect(),
        next,
        ttl_ms,
        cache_scope,
    })
}

/// A tool definition, as far as we decide on it. `raw` has everything.
#[derive(Clone, Debug)]
pub struct ToolView {
    /// Its name, byte for byte.
    pub name: String,
    /// `title`, else `annotations.title`.
    pub title: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `inputSchema` as written, whatever it is; absent if it was absent or null.
    pub input_schema: Option<Raw>,
    /// `outputSchema` as written.
    pub output_schema: Option<Raw>,
    /// `annotations.readOnlyHint` and its kin; absent when not given or of a wrong type.
    pub read_only: Option<bool>,
    /// `annotations.destructiveHint`.
    pub destructive: Option<bool>,
    /// `annotations.idempotentHint`.
    pub idempotent: Option<bool>,
    /// `execution.taskSupport`.
    pub task_support: Option<String>,
    /// The definition as written.
    pub raw: Raw,
}

/// Reads a tool definition.
///
/// # Errors
/// Why this one cannot be used; its neighbours are not touched.
pub fn tool(raw: &RawValue) -> Result<ToolView, String> {
    let mut tool = ToolView::empty(raw);
    let mut annotations = None;
    let object = members(raw.get(), &mut |key, value| match &*key {
        "name" => tool.name = owned_text(value).unwrap_or_default(),
        "title" => tool.title = owned_text(value),
        "description" => tool.description = owned_text(value),
        "inputSchema" => tool.input_schema = not_null(value),
        "outputSchema" => tool.output_schema = not_null(value),
        "annotations" => annotations = Some(value),
        "execution" => {
            tool.task_support = member(value.get(), "taskSupport").and_then(owned_text);
        }
        _ => {}
    });
    if !object {
        return Err("the tool is no object".to_owned());
    }
    if tool.name.is_empty() {
        return Err("the tool has no name".to_owned());
    }
    members(annotations.map_or("", RawValue::get), &mut |key, value| match &*key {
        "title" if tool.title.is_none() => tool.title = owned_text(value),
        "readOnlyHint" => tool.read_only = boolean(value),
        "destructiveHint" => tool.destructive = boolean(value),
        "idempotentHint" => tool.idempotent = boolean(value),
        _ => {}
    });
    Ok(tool)
}

impl ToolView {
    fn empty(raw: &RawValue) -> Self {
        Self {
            name: String::new(),
            title: None,
            description: None,
            input_schema: None,
            output_schema: None,
            read_only: None,
            destructive: None,
            idempotent: None,
            task_support: None,
            raw: raw.to_owned(),
        }
    }
}

fn not_null(value: &RawValue) -> Option<Raw> {
    (!is_null(value)).then(|| value.to_owned())
}

/// A resource, a resource template or a prompt: `key` is `uri`, `uriTemplate` or `name`.
#[derive(Clone, Debug)]
pub struct ItemView {
    /// The value of the key.
    pub id: String,
    /// `name`.
    pub name: Option<String>,
    /// `title`.
    pub title: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// As written.
    pub raw: Raw,
}

/// Reads one item.
///
/// # Errors
/// Why it cannot be used.
pub fn item(raw: &RawValue, key: &str) -> Result<ItemView, String> {
    let (mut id, mut name, mut title, mut description) = (None, None, None, None);
    let object = members(raw.get(), &mut |k, value| {
        match &*k {
            "name" => name = owned_text(value),
            "title" => title = owned_text(value),
            "description" => description = owned_text(value),
            _ => {}
        }
        if k == key {
            id = owned_text(value);
        }
    });
    if !object {
        return Err("the item is no object".to_owned());
    }
    let id =
        id.filter(|id| !id.is_empty()).ok_or_else(|| format!("the item has no `{key}` text"))?;
    Ok(ItemView { id, name, title, description, raw: raw.to_owned() })
}

/// What an opening says of a server.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// `protocolVersion` of an InitializeResult, as written.
    pub version: Option<String>,
    /// `supportedVersions` of a DiscoverResult, as written.
    pub supported: Vec<String>,
    /// `serverInfo` as written (either place, R-3).
    pub server_info: Option<Raw>,
    /// `capabilities` as written.
    pub capabilities: Option<Raw>,
    /// `instructions`: untrusted text.
    pub instructions: Option<String>,
}

/// Reads an InitializeResult.
///
/// # Errors
/// Why it is none (no `protocolVersion` text).
pub fn initialized(result: &RawValue) -> Result<Opened, String> {
    let opened = opened(result);
    match opened.version {
        Some(_) => Ok(opened),
        None => Err("the answer to `initialize` has no `protocolVersion` text".to_owned()),
    }
}

/// Reads a DiscoverResult.
///
/// # Errors
/// Why it is none (no `supportedVersions` array, E-7).
pub fn discovered(result: &RawValue) -> Result<Opened, String> {
    match member(result.get(), "supportedVersions") {
        Some(versions) if is_array(versions) => {
            Ok(Opened { supported: texts(versions), ..opened(result) })
        }
        _ => Err("the answer to `server/discover` has no `supportedVersions` array".to_owned()),
    }
}

/// What both openings may say.
fn opened(result: &RawValue) -> Opened {
    let mut opened = Opened::default();
    let mut meta = None;
    members(result.get(), &mut |key, value| match &*key {
        "protocolVersion" => opened.version = owned_text(value),
        "serverInfo" => opened.server_info = object(value),
        "capabilities" => opened.capabilities = object(value),
        "instructions" => opened.instructions = owned_text(value),
        "_meta" => meta = Some(value),
        _ => {}
    });
    let identity = meta.and_then(|meta| member(meta.get(), "io.modelcontextprotocol/serverInfo"));
    opened.server_info = identity.and_then(object).or(opened.server_info);
    opened
}

fn object(value: &RawValue) -> Option<Raw> {
    is_object(value).then(|| value.to_owned())
}

/// The texts of an array; what is none is skipped.
fn texts(array: &RawValue) -> Vec<String> {
    /// There are not that many revisions.
    const MOST: usize = 64;
    elements(array).unwrap_or_default().into_iter().filter_map(owned_text).take(MOST).collect()
}

impl Opened {
    /// True if `capabilities` has an object under `key` (`tools`, `resources`, `prompts`, …).
    #[must_use]
    pub fn offers(&self, key: &str) -> bool {
        let capabilities = self.capabilities.as_ref().map_or("", |raw| raw.get());
        member(capabilities, key).is_some_and(is_object)
    }

    /// True if the capability `key` has `listChanged: true`: its list may change, and the server
    /// tells of it.
    #[must_use]
    pub fn announces(&self, key: &str) -> bool {
        let capabilities = self.capabilities.as_ref().map_or("", |raw| raw.get());
        let capability = member(capabilities, key).filter(|value| is_object(value));
        let told = capability.and_then(|value| member(value.get(), "listChanged"));
        told.and_then(boolean) == Some(true)
    }

    /// Supported revisions that we speak, newest first.
    #[must_use]
    pub fn mutual(&self) -> Vec<Revision> {
        let named = |revision: &Revision| self.supported.iter().any(|s| s == revision.as_str());
        Revision::ALL.into_iter().rev().filter(named).collect()
    }
}

/// The id of the subscription that a notification belongs to (U-3): the id of our request, as a
/// number or as a text.
#[must_use]
pub fn subscription(params: &RawValue) -> Option<u64> {
    let id = member(params.get(), "_meta")
        .and_then(|meta| member(meta.get(), "io.modelcontextprotocol/subscriptionId"))?;
    number(id)
}

/// `requestId` of a cancellation, if it can be one of our ids.
#[must_use]
pub fn cancelled(params: &RawValue) -> Option<u64> {
    number(member(params.get(), "requestId")?)
}

/// An id of ours, which some peers give back as a text.
fn number(id: &RawValue) -> Option<u64> {
    match owned_text(id) {
        Some(text) => text.parse().ok(),
        None => integer(id.get()).and_then(|id| u64::try_from(id).ok()),
    }
}

/// Revisions named by the `data` of an error about versions (`data.supported`), as written; empty
/// when there are none.
#[must_use]
pub fn supported_in(data: &RawValue) -> Vec<String> {
    member(data.get(), "supported").map(texts).unwrap_or_default()
}

/// Capabilities named by the `data` of an error about a missing one (`data.requiredCapabilities`).
#[must_use]
pub fn required_in(data: &RawValue) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(required) = member(data.get(), "requiredCapabilities") {
        members(required.get(), &mut |name, _| names.push(name.into_owned()));
    }
    names
}

#[cfg(test)]
mod tests;
