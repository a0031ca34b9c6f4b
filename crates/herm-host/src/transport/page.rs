//! Web pages, which come where an MCP message should: told by their titles, never by their markup.

use herm_core::gate::clean;

/// A title is cut here, in characters.
const MAX_TITLE: usize = 80;
/// A page begins within so many bytes; what stands before is a comment or an XML declaration.
const HEAD: usize = 1_024;

/// Whether a body is a web page.
pub(crate) fn is_html(body: &str) -> bool {
    let start = body.trim_start_matches('\u{feff}').trim_start();
    start.starts_with('<') && {
        let head = lower(start, HEAD);
        ["<!doctype html", "<html", "<head", "<body", "<title"].iter().any(|tag| head.contains(tag))
    }
}

/// What a page is called, in words; `None` if the body is no page.
pub(crate) fn named(body: &str) -> Option<String> {
    is_html(body).then(|| match title(body) {
        Some(title) => format!("an HTML page, titled \"{title}\""),
        None => "an HTML page".to_owned(),
    })
}

/// The text of the first `<title>`, cleaned.
fn title(body: &str) -> Option<String> {
    let low = body.to_ascii_lowercase();
    let tag = low.find("<title")?;
    let start = tag + low.get(tag..)?.find('>')? + 1;
    let end = start + low.get(start..)?.find('<')?;
    let text = body.get(start..end)?;
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "'"), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain));
    let title = clean::line(&plain, MAX_TITLE);
    (!title.is_empty()).then_some(title)
}

fn lower(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_page_is_told_by_its_title_and_never_by_its_markup() {
        let cells = [
            (
                "<!DOCTYPE html> <html><head><TITLE lang=en> Not\n Found &amp; gone\u{1b}[31m </TITLE>",
                Some("an HTML page, titled \"Not Found & gone\""),
            ),
            ("<html><body><h1>It works!</h1>", Some("an HTML page")),
            ("<html><title></title>", Some("an HTML page")),
            ("<html><title>never closed", Some("an HTML page")),
            ("<?xml version=\"1.0\"?><html><title>x</title>", Some("an HTML page, titled \"x\"")),
            ("\u{feff} <html>ü", Some("an HTML page")),
            ("Not Found", None),
            ("{\"error\": \"<html>\"}", None),
            ("<error>no</error>", None),
            ("", None),
        ];
        for (body, told) in cells {
            assert_eq!(named(body).as_deref(), told, "{body}");
        }
    }
}
