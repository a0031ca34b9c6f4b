//! Results for people: of a call, of a resource, of a prompt.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use super::pretty::pretty;
use super::save;
use crate::command_error::Exit;
use crate::ui::Ui;

/// How results are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How<'a> {
    /// Where bytes are saved.
    pub(crate) dir: &'a Path,
    /// Texts over this many characters are cut in the middle.
    pub(crate) max_chars: Option<usize>,
    /// Takes down what could not be saved there.
    pub(crate) unsaved: &'a Unsaved,
}

/// What could not be saved for a reason of ours: each why.
#[derive(Debug, Default)]
pub(crate) struct Unsaved(RefCell<Vec<String>>);

impl Unsaved {
    /// Says it; gives how the command ends that would have ended with `exit`.
    pub(crate) fn say(&self, ui: &mut Ui, exit: Exit) -> io::Result<Exit> {
        let lost = self.0.borrow();
        for why in lost.iter() {
            ui.error(format_args!("a part of the result is lost: {why}"))?;
        }
        Ok(if lost.is_empty() { exit } else { Exit::Failed })
    }
}

/// True if the tool says that it failed.
pub(crate) fn is_error(result: &RawValue) -> bool {
    member(result, "isError").is_some_and(|flag| flag.get() == "true")
}

fn list(raw: Option<&RawValue>) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw?.get()).ok()
}

/// The result of a call, one text for each part of it.
pub(crate) fn call(result: &RawValue, how: How<'_>) -> Vec<String> {
    let blocks = list(member(result, "content"));
    let mut parts: Vec<String> =
        blocks.iter().flatten().map(|one| how.cut(block(one, how))).collect();
    match member(result, "structuredContent").filter(|raw| raw.get() != "null") {
        Some(raw) if !is_told(raw, blocks.as_deref().unwrap_or_default()) => {
            parts.push(how.cut(pretty(raw.get())));
        }
        Some(_) => {}
        // Neither: show what it is.
        None if blocks.is_none() => parts.push(how.cut(pretty(result.get()))),
        None => {}
    }
    parts
}

/// The result of reading a resource.
pub(crate) fn resource(result: &RawValue, how: How<'_>) -> Vec<String> {
    let contents = member(result, "contents").and_then(|raw| list(Some(raw)));
    match contents {
        Some(contents) => contents.iter().map(|one| how.cut(contents_text(one, how))).collect(),
        None => vec![how.cut(pretty(result.get()))],
    }
}

/// The result of getting a prompt: its messages, each under its role.
pub(crate) fn prompt(result: &RawValue, how: How<'_>) -> Vec<String> {
    let Some(messages) = member(result, "messages").and_then(|raw| list(Some(raw))) else {
        return vec![how.cut(pretty(result.get()))];
    };
    let message = |raw: &&RawValue| {
        let role = text_of(raw, "role").unwrap_or_else(|| "?".to_owned());
        let content = member(raw, "content").map(|content| block(content, how));
        format!("{role}: {}", how.cut(content.unwrap_or_default()))
    };
    messages.iter().map(message).collect()
}

/// One content block.
fn block(raw: &RawValue, how: How<'_>) -> String {
    let kind = text_of(raw, "type").unwrap_or_default();
    let mime = text_of(raw, "mimeType");
    match kind.as_str() {
        "text" => text_of(raw, "text").unwrap_or_else(|| placeholder(&kind, raw)),
        "image" | "audio" => match text_of(raw, "data") {
            Some(data) => saved(&kind, &data, mime.as_deref(), how),
            None => placeholder(&kind, raw),
        },
        "resource_link" => match text_of(raw, "uri") {
            Some(uri) => match text_of(raw, "name") {
                Some(name) => format!("{name}: {uri}"),
                None => uri,
            },
            None => placeholder(&kind, raw),
        },
        "resource" => match member(raw, "resource") {
            Some(resource) => contents_text(resource, how),
            None => placeholder(&kind, raw),
        },
        _ => placeholder(&kind, raw), // kinds of a later revision, and kinds that are none
    }
}

/// The contents of a resource: a text, or bytes.
fn contents_text(raw: &RawValue, how: How<'_>) -> String {
    if let Some(text) = text_of(raw, "text") {
        return text;
    }
    match text_of(raw, "blob") {
        Some(blob) => saved("resource", &blob, text_of(raw, "mimeType").as_deref(), how),
        None => placeholder("resource", raw),
    }
}

fn saved(kind: &str, data: &str, mime: Option<&str>, how: How<'_>) -> String {
    match save::base64(how.dir, data, mime) {
        Ok(path) => path.display().to_string(),
        Err(why) => {
            if matches!(why, save::NotSaved::Io { .. }) {
                how.unsaved.0.borrow_mut().push(why.to_string());
            }
            format!("[{kind} block: {} characters of base64, not saved: {why}]", data.len())
        }
    }
}

fn placeholder(kind: &str, raw: &RawValue) -> String {
    let kind = if kind.is_empty() { "unknown" } else { kind };
    format!("[{} block: {} bytes]", crate::ui::shorten(kind, 40), raw.get().len())
}

/// A member of an object, as written; of several with one name the last.
pub(crate) fn member<'a>(raw: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    let mut all: std::collections::HashMap<String, &'a RawValue> =
        serde_json::from_str(raw.get()).ok()?;
    all.remove(name)
}

fn text_of(raw: &RawValue, name: &str) -> Option<String> {
    serde_json::from_str(member(raw, name)?.get()).ok()
}

/// True if the texts say the same as the structured content: as a whole, as the one value of an
/// object (`{"result": …}`, `{"content": …}`), or item by item.
fn is_told(structured: &RawValue, blocks: &[&RawValue]) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(structured.get()) else { return false };
    let texts: Vec<String> = blocks.iter().filter_map(|block| text_of(block, "text")).collect();
    let inner = value.as_object().filter(|o| o.len() == 1).and_then(|o| o.values().next());
    if texts.iter().any(|text| says(text, &value) || inner.is_some_and(|v| says(text, v))) {
        return true;
    }
    let items = inner.unwrap_or(&value).as_array();
    items.is_some_and(|items| {
        items.len() == texts.len() && items.iter().zip(&texts).all(|(item, text)| says(text, item))
    })
}

fn says(text: &str, value: &Value) -> bool {
    value.as_str() == Some(text)
        || serde_json::from_str::<Value>(text).is_ok_and(|told| told == *value)
}

impl<'a> How<'a> {
    /// Nothing is cut.
    pub(crate) fn new(dir: &'a Path, unsaved: &'a Unsaved) -> Self {
        Self { dir, max_chars: None, unsaved }
    }

    /// Head 40 %, tail 60 %, a note between.
    fn cut(self, text: String) -> String {
        let Some(max) = self.max_chars else { return text };
        let length = text.chars().count();
        if length <= max {
            return text;
        }
        let head = max * 2 / 5;
        let tail = max - head;
        let start: String = text.chars().take(head).collect();
        let end: String = text.chars().skip(length - tail).collect();
        format!("{start}\n[… {} characters left out …]\n{end}", length - max)
    }
}

#[cfg(test)]
mod tests {
    use super::{How, Unsaved, call, is_error, prompt, resource};
    use serde_json::value::RawValue;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn shown(json: &str, max_chars: Option<usize>) -> String {
        let dir = tempfile::tempdir().unwrap();
        let unsaved = Unsaved::default();
        let how = How { dir: dir.path(), max_chars, unsaved: &unsaved };
        let parts = call(&raw(json), how).join("\n---\n");
        parts.replace(&dir.path().display().to_string(), "DIR")
    }

    #[test]
    fn each_kind_of_block_is_shown() {
        let json = r#"{"content":[{"type":"text","text":"hello"},
            {"type":"image","data":"aGVsbG8=","mimeType":"image/png"},
            {"type":"audio","data":"%%","mimeType":"audio/wav"},
            {"type":"resource_link","uri":"file:///a","name":"a"},
            {"type":"resource","resource":{"uri":"x:1","text":"inside"}},
            {"type":"resource","resource":{"uri":"x:2","blob":"aGVsbG8=","mimeType":"application/pdf"}},
            {"type":"x-new","of":"a later revision"},{"type":"text"},7,null]}"#;
        insta::assert_snapshot!(shown(json, None), @r"
        hello
        ---
        DIR/2cf24dba5fb0a30e.png
        ---
        [audio block: 2 characters of base64, not saved: its data is no base64]
        ---
        a: file:///a
        ---
        inside
        ---
        DIR/2cf24dba5fb0a30e.pdf
        ---
        [x-new block: 40 bytes]
        ---
        [text block: 15 bytes]
        ---
        [unknown block: 1 bytes]
        ---
        [unknown block: 4 bytes]
        ");
    }

    #[test]
    fn structured_content_is_not_said_twice() {
        let with = |text: &str, structured: &str| {
            let text = serde_json::to_string(text).unwrap();
            shown(
                &format!(
                    r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{structured}}}"#
                ),
                None,
            )
        };
        assert_eq!(with(r#"{ "a": 1 }"#, r#"{"a":1}"#), r#"{ "a": 1 }"#);
        assert_eq!(with("5", r#"{"result":5}"#), "5");
        assert_eq!(with("hi", r#"{"result":"hi"}"#), "hi");
        assert_eq!(with("[FILE] a", r#"{"content":"[FILE] a"}"#), "[FILE] a");
        insta::assert_snapshot!(with("Sunny.", r#"{"n":12345678901234567890123}"#), @r#"
        Sunny.
        ---
        {
          "n": 12345678901234567890123
        }
        "#);
        let items = r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"2"}],"structuredContent":{"result":["a",2]}}"#;
        assert_eq!(shown(items, None), "a\n---\n2");
    }

    #[test]
    fn odd_results_are_shown_as_they_are() {
        assert_eq!(shown(r#"{"toolResult":1}"#, None), "{\n  \"toolResult\": 1\n}");
        assert_eq!(shown(r#"{"content":[]}"#, None), "");
        assert_eq!(
            shown(r#"{"content":{"no":"list"}}"#, None),
            "{\n  \"content\": {\n    \"no\": \"list\"\n  }\n}"
        );
        assert!(is_error(&raw(r#"{"content":[],"isError":true}"#)));
        assert!(!is_error(&raw(r#"{"content":[],"isError":"true"}"#)));
        assert_eq!(
            shown(r#"{"content":[{"type":"text","text":"0123456789"}]}"#, Some(5)),
            "01\n[… 5 characters left out …]\n789"
        );
    }

    #[test]
    fn resources_and_prompts_are_shown() {
        let dir = tempfile::tempdir().unwrap();
        let unsaved = Unsaved::default();
        let how = How::new(dir.path(), &unsaved);
        let read = resource(&raw(r#"{"contents":[{"uri":"a","text":"t"},{"uri":"b"}]}"#), how);
        insta::assert_snapshot!(read.join("\n"), @r"
        t
        [resource block: 11 bytes]
        ");
        let json = r#"{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}},{"role":"assistant"}]}"#;
        insta::assert_snapshot!(prompt(&raw(json), how).join("\n"), @r"
        user: Hi
        assistant:
        ");
    }
}
