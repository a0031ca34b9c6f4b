//! Just enough reading of compact JSON to answer the clients under test.

/// A request; notifications and responses are none.
pub(crate) struct Request<'a> {
    /// The raw token, quotes included.
    pub(crate) id: &'a str,
    /// Empty when there is none.
    pub(crate) method: &'a str,
    /// The whole line.
    pub(crate) text: &'a str,
}

impl<'a> Request<'a> {
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let id = id_of(text)?;
        let method = field(text, "method").map_or("", |token| token.trim_matches('"'));
        Some(Self { id, method, text })
    }

    /// The token of the first `"key":` anywhere in the line.
    pub(crate) fn field(&self, key: &str) -> Option<&'a str> {
        field(self.text, key)
    }
}

/// The first `"id":` outside `params`, looked for before them and then from the end.
fn id_of(text: &str) -> Option<&str> {
    let before = text.find("\"params\":").map_or(text, |at| &text[..at]);
    field(before, "id").or_else(|| field(&text[text.rfind("\"id\":")?..], "id"))
}

fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let start = text.find(&format!("\"{key}\":"))? + key.len() + 3;
    let rest = text[start..].trim_start();
    let end = match rest.strip_prefix('"') {
        Some(inside) => inside.find('"')? + 2,
        None => rest.find([',', '}'])?,
    };
    Some(&rest[..end])
}
