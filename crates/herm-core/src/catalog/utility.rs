//! The tools of ours that stand for a server's resources and prompts: what they look like, what they
//! are asked for, and what becomes of the server's answer.

use serde_json::value::RawValue;

use crate::name::{ServerName, Utility};
use crate::wire::json::{elements, integer, is_object, member, members, owned_text, quote};
use crate::wire::params::Params;
use crate::wire::view::{self, ItemView, ToolView};
use crate::wire::{Raw, compact};

/// Items of one portion of a list.
const PORTION: usize = 200;
/// Bytes of one portion, as the server wrote them; one item always fits.
const PORTION_BYTES: usize = 256 << 10;

/// The definition of a utility over this server: `inputSchema`, a description that names the server,
/// and `readOnlyHint: true`.
///
/// # Errors
/// None that can happen: that our own definition could not be read.
pub fn tool(utility: Utility, server: &ServerName) -> Result<ToolView, String> {
    let input = Params::new().text("type", "object").raw("properties", properties(utility));
    let input = match utility {
        Utility::ListResources | Utility::ListPrompts => input,
        Utility::ReadResource => input.raw("required", r#"["uri"]"#),
        Utility::GetPrompt => input.raw("required", r#"["name"]"#),
    };
    let definition = Params::new()
        .text("name", utility.as_str())
        .text("description", &description(utility, server))
        .raw("inputSchema", &input.bare())
        .raw("annotations", r#"{"readOnlyHint":true}"#)
        .bare();
    let raw = RawValue::from_string(definition).map_err(|error| error.to_string())?;
    view::tool(&raw)
}

fn description(utility: Utility, server: &ServerName) -> String {
    let portions = "If the answer has `nextOffset`, there is more: ask again with it as `offset`.";
    match utility {
        Utility::ListResources => format!(
            "List the resources of MCP server '{server}': each `uri` can be given to \
             `read_resource`. {portions}"
        ),
        Utility::ReadResource => format!("Read one resource of MCP server '{server}' by its URI."),
        Utility::ListPrompts => format!(
            "List the prompts of MCP server '{server}', with their arguments: each `name` can be \
             given to `get_prompt`. {portions}"
        ),
        Utility::GetPrompt => {
            format!("Get one prompt of MCP server '{server}' by its name, filled in.")
        }
    }
}

fn properties(utility: Utility) -> &'static str {
    match utility {
        Utility::ListResources | Utility::ListPrompts => {
            r#"{"offset":{"type":"integer","minimum":0,"description":"how many entries to skip"}}"#
        }
        Utility::ReadResource => {
            r#"{"uri":{"type":"string","description":"the URI of the resource"}}"#
        }
        Utility::GetPrompt => {
            r#"{"name":{"type":"string","description":"the name of the prompt"},"arguments":{"type":"object","description":"the prompt's arguments, by name","properties":{},"additionalProperties":true}}"#
        }
    }
}

/// What a utility is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Asked {
    /// Resources and templates, without the first so many.
    Resources(usize),
    /// The resource of a URI.
    Resource(String),
    /// Prompts, without the first so many.
    Prompts(usize),
    /// A prompt by its name, with the `arguments` to send: an object of texts.
    Prompt(String, Option<Raw>),
}

/// Reads the arguments of a call, a JSON object. Values for a prompt become texts (JSON text where
/// they are none), nulls are left out; unknown members are nothing.
///
/// # Errors
/// What is missing or wrong, and what to give instead.
pub fn asked(utility: Utility, arguments: &str) -> Result<Asked, String> {
    let text = |key: &str, what: &str| match member(arguments, key).map(owned_text) {
        Some(Some(text)) => Ok(text),
        Some(None) => Err(format!("`{key}` is no text: give {what}")),
        None => Err(format!("`{key}` is missing: give {what}")),
    };
    Ok(match utility {
        Utility::ListResources => Asked::Resources(offset(arguments)?),
        Utility::ListPrompts => Asked::Prompts(offset(arguments)?),
        Utility::ReadResource => {
            Asked::Resource(text("uri", "the URI of a resource, as `list_resources` shows it")?)
        }
        Utility::GetPrompt => {
            let name = text("name", "the name of a prompt, as `list_prompts` shows it")?;
            Asked::Prompt(name, member(arguments, "arguments").map(texts).transpose()?)
        }
    })
}

fn offset(arguments: &str) -> Result<usize, String> {
    let Some(given) = member(arguments, "offset") else { return Ok(0) };
    let offset = integer(given.get()).and_then(|offset| usize::try_from(offset).ok());
    offset.ok_or_else(|| "`offset` is no whole number from 0 up".to_owned())
}

fn texts(arguments: &RawValue) -> Result<Raw, String> {
    let mut kept = Params::new();
    let mut add = |key: &str, json: &str| kept = std::mem::take(&mut kept).raw(key, json);
    let object = members(arguments.get(), &mut |key, value| match value.get() {
        "null" => {}
        text if text.starts_with('"') => add(&key, text),
        other => add(&key, &quote(&compact(other))),
    });
    if !object {
        return Err("`arguments` is no object: give an object of texts".to_owned());
    }
    RawValue::from_string(kept.bare()).map_err(|error| error.to_string())
}

/// One portion of a server's lists as a tool result: each list under its key, its entries as the
/// server wrote them, and `nextOffset` if there is more. The lists count as one, in this order.
///
/// # Errors
/// None that can happen: that our own result could not be read.
pub fn portion(lists: &[(&str, &[ItemView])], offset: usize) -> Result<Raw, String> {
    let mut skip = offset;
    let (mut shown, mut bytes, mut full) = (0, 0, false);
    let mut object = Params::new();
    for (key, items) in lists {
        let rest = items.get(skip.min(items.len())..).unwrap_or_default();
        skip = skip.saturating_sub(items.len());
        let mut kept = Vec::new();
        for item in rest {
            let size = item.raw.get().len();
            full |= shown == PORTION || shown > 0 && bytes + size > PORTION_BYTES;
            if full {
                break;
            }
            kept.push(item.raw.get());
            (shown, bytes) = (shown + 1, bytes + size);
        }
        object = object.raw(key, &array(&kept));
    }
    if full {
        object = object.raw("nextOffset", &offset.saturating_add(shown).to_string());
    }
    let object = object.bare();
    let blocks = array(&[text_block(&object)]);
    result(Params::new().raw("content", &blocks).raw("structuredContent", &object))
}

/// The answer to `resources/read` as a tool result: each of the contents is an embedded resource, as
/// the server wrote it. Other members, `_meta` too, stay.
///
/// # Errors
/// Why it is no such answer.
pub fn contents(answer: &RawValue) -> Result<Raw, String> {
    let contents = member(answer.get(), "contents").and_then(elements);
    let contents = contents.ok_or("its answer to `resources/read` has no `contents` array")?;
    let block = |content: &&RawValue| match is_object(content) {
        true => Params::new().text("type", "resource").raw("resource", content.get()).bare(),
        false => text_block(content.get()),
    };
    let blocks: Vec<String> = contents.iter().map(block).collect();
    result(others(answer, "contents", Params::new().raw("content", &array(&blocks))))
}

/// The answer to `prompts/get` as a tool result. Each message is a block `ROLE:` whose
/// `_meta["herm/message"]` holds all of the message but its content, followed by the content as the
/// server wrote it. Other members, `description` and `_meta` too, stay.
///
/// # Errors
/// Why it is no such answer.
pub fn messages(answer: &RawValue) -> Result<Raw, String> {
    let messages = member(answer.get(), "messages").and_then(elements);
    let messages = messages.ok_or("its answer to `prompts/get` has no `messages` array")?;
    let mut blocks = Vec::new();
    for message in messages {
        if !is_object(message) {
            blocks.push(text_block(message.get()));
            continue;
        }
        blocks.push(head(message));
        let Some(content) = member(message.get(), "content") else { continue };
        let each = elements(content).unwrap_or_else(|| vec![content]);
        blocks.extend(each.into_iter().map(|block| match owned_text(block) {
            _ if is_object(block) => block.get().to_owned(),
            Some(text) => text_block(&text),
            None => text_block(block.get()),
        }));
    }
    result(others(answer, "messages", Params::new().raw("content", &array(&blocks))))
}

/// Who says what follows.
fn head(message: &RawValue) -> String {
    let mut about = Params::new();
    members(message.get(), &mut |key, value| {
        if key != "content" {
            about = std::mem::take(&mut about).raw(&key, value.get());
        }
    });
    let role = member(message.get(), "role").and_then(owned_text).unwrap_or_default();
    let meta = Params::new().raw("herm/message", &about.bare());
    let text = Params::new().text("type", "text").text("text", &format!("{role}:"));
    text.raw("_meta", &meta.bare()).bare()
}

/// Adds the members of an answer that were not turned into blocks, but for those that would say
/// something of a tool's result.
fn others(answer: &RawValue, used: &str, mut to: Params) -> Params {
    members(answer.get(), &mut |key, value| {
        if key != used && !["content", "structuredContent", "isError"].contains(&&*key) {
            to = std::mem::take(&mut to).raw(&key, value.get());
        }
    });
    to
}

fn text_block(text: &str) -> String {
    Params::new().text("type", "text").text("text", text).bare()
}

fn array(items: &[impl AsRef<str>]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    format!("[{}]", items.join(","))
}

fn result(members: Params) -> Result<Raw, String> {
    RawValue::from_string(members.bare()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
