//! `max_result_chars`: a result that would drown a model is cut, and says so.

use std::borrow::Cow;

use serde_json::json;
use serde_json::value::RawValue;

use crate::object::{Object, quote};

/// The result with its texts cut to `max` characters together: of the one that is too long the head
/// (40 %) and the tail (60 %) stay, with a note between. Structured content that would not fit is
/// left out. What fits is returned as it is, byte for byte; bytes (images, sounds) are no text.
pub(super) fn result(json: &str, max: usize) -> Cow<'_, str> {
    if json.len() <= max {
        return Cow::Borrowed(json);
    }
    cut(json, max).map_or(Cow::Borrowed(json), Cow::Owned)
}

fn cut(json: &str, max: usize) -> Option<String> {
    let mut result = Object::read(json)?;
    let mut left = max;
    let mut out: u64 = 0;
    if let Some(content) = result.get("content") {
        let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
        let blocks: Vec<String> =
            blocks.into_iter().map(|block| of_block(block, &mut left, &mut out)).collect();
        if out > 0 {
            result.set("content", &format!("[{}]", blocks.join(",")));
        }
    }
    let structured = result.get("structuredContent").map(|value| value.get().chars().count());
    if let Some(length) = structured.filter(|length| *length > max) {
        result.remove("structuredContent");
        out += length as u64;
    }
    if out == 0 {
        return None;
    }
    let meta = result.get("_meta").map(|meta| meta.get());
    let mut meta = meta.and_then(Object::read).unwrap_or_default();
    meta.set("herm/cut", &json!({"characters": out}).to_string());
    let meta = meta.to_json();
    result.set("_meta", &meta);
    Some(result.to_json())
}

/// One block, cut if it is a text over what is left.
fn of_block(block: &RawValue, left: &mut usize, out: &mut u64) -> String {
    cut_text(block, left, out).unwrap_or_else(|| block.get().to_owned())
}

/// `None` if the block is no text, or fits.
fn cut_text(block: &RawValue, left: &mut usize, out: &mut u64) -> Option<String> {
    let mut object = Object::read(block.get())?;
    let text = object.text("text").filter(|_| object.text("type").as_deref() == Some("text"))?;
    let length = text.chars().count();
    let Some(over) = length.checked_sub(*left).filter(|over| *over > 0) else {
        *left -= length;
        return None;
    };
    object.set("text", &quote(&shortened(&text, *left, over)));
    *left = 0;
    *out += over as u64;
    Some(object.to_json())
}

fn shortened(text: &str, max: usize, over: usize) -> String {
    let head = max * 2 / 5;
    let at = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let start = text.get(..at(head)).unwrap_or_default();
    let end = text.get(at(head + over)..).unwrap_or_default();
    format!("{start}\n[… {over} characters left out by herm (`max_result_chars`) …]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::result;
    use std::borrow::Cow;

    #[test]
    fn a_text_that_is_no_unicode_is_cut_like_any_other() {
        let odd = r#"{"content":[{"type":"text","text":"\ud800123456789"}]}"#;
        insta::assert_snapshot!(result(odd, 5), @r#"{"content":[{"type":"text","text":"�1\n[… 5 characters left out by herm (`max_result_chars`) …]\n789"}],"_meta":{"herm/cut":{"characters":5}}}"#);
    }

    #[test]
    fn what_fits_is_not_touched_and_what_does_not_says_so() {
        let small = r#"{"content":[{"type":"text","text":"0123456789"}]}"#;
        assert!(matches!(result(small, 100), Cow::Borrowed(_)));
        // Long for its bytes, not for its texts.
        assert!(matches!(result(small, 10), Cow::Borrowed(_)));
        insta::assert_snapshot!(result(small, 5), @r#"{"content":[{"type":"text","text":"01\n[… 5 characters left out by herm (`max_result_chars`) …]\n789"}],"_meta":{"herm/cut":{"characters":5}}}"#);
        let two = r#"{"isError":false,"content":[{"type":"text","text":"éééé"},{"type":"image","data":"AAAAAAAAAAAA"},{"type":"text","text":"abcd","x":1.0}],"structuredContent":{"a":"bcdefgh"},"_meta":{"k":1}}"#;
        insta::assert_snapshot!(result(two, 6), @r#"{"isError":false,"content":[{"type":"text","text":"éééé"},{"type":"image","data":"AAAAAAAAAAAA"},{"type":"text","text":"\n[… 2 characters left out by herm (`max_result_chars`) …]\ncd","x":1.0}],"_meta":{"k":1,"herm/cut":{"characters":17}}}"#);
    }
}
