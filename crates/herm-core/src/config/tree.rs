//! A file as a tree of values that know where they stand.
//!
//! YAML and JSON give the same tree. Scalars keep their source text, so that `1.10` stays `1.10`.
//! Every input is bounded: bytes, depth, values, and what aliases may copy.

mod json;
mod yaml;

#[cfg(test)]
mod tests;

/// Bytes of one configuration file.
pub const MAX_BYTES: usize = 4 << 20;
/// Values inside one another.
pub const MAX_DEPTH: usize = 64;
/// Values of one file.
pub const MAX_VALUES: usize = 100_000;

/// Where something begins. Both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A value and its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Node {
    /// Where it begins; of an alias the place of what it stands for.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// What a node is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// A single value.
    Scalar {
        /// Its text: unescaped if quoted, else as in the source.
        text: String,
        /// Whether it was quoted.
        style: Style,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values, in the order of the file.
    Mapping(Mapping),
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Style {
    /// Bare: may be a number, a boolean, null, or text.
    Plain,
    /// In quotes or as a block: always text.
    Quoted,
}

/// Keys and values, in the order of the file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Mapping {
    /// Each key once; of a repeated key the first.
    pub entries: Vec<Entry>,
    /// Keys that came again.
    pub repeats: Vec<Repeat>,
}

/// One key and its value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key begins.
    pub place: Place,
    /// The value.
    pub value: Node,
}

/// A key that came again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repeat {
    /// The key.
    pub key: String,
    /// Where it was first.
    pub first: Place,
    /// Where it came again.
    pub again: Place,
}

/// Why a text is no tree.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Flaw {
    /// Where, if it is about a place.
    pub place: Option<Place>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// The language of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// YAML 1.2, with merge keys.
    Yaml,
    /// JSON, with comments and trailing commas as editors write them.
    Json,
}

impl Format {
    /// By the ending of `file`, and by the first character where the ending says nothing.
    #[must_use]
    pub fn of(file: &str, bytes: &[u8]) -> Self {
        let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("json" | "jsonc") => Self::Json,
            Some("yaml" | "yml") => Self::Yaml,
            _ if bytes.trim_ascii_start().first() == Some(&b'{') => Self::Json,
            _ => Self::Yaml,
        }
    }
}

impl Node {
    /// The text of a scalar that is not null.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Whether it is nothing: an empty value, `~` or `null`, unquoted.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, style: Style::Plain }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The keys and values of a mapping.
    #[must_use]
    pub fn mapping(&self) -> Option<&Mapping> {
        match &self.value {
            Value::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// What it is, for a message.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar { .. } if self.is_null() => "nothing",
            Value::Scalar { style: Style::Quoted, .. } => "text",
            Value::Scalar { text, .. } if text.parse::<f64>().is_ok() => "a number",
            Value::Scalar { .. } => "text",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }
}

impl Mapping {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

impl Flaw {
    fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place: Some(place), message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Reads a whole file. An empty one is a null.
///
/// # Errors
///
/// The first thing that makes the file unreadable. Repeated keys are no flaw here: they stand in
/// [`Mapping::repeats`], so that all of them can be reported.
pub fn read(bytes: &[u8], format: Format) -> Result<Node, Flaw> {
    let text = text(bytes)?;
    match format {
        Format::Yaml => yaml::read(text),
        Format::Json => json::read(text),
    }
}

/// The text of a file: bounded, UTF-8, without characters that no editor shows.
fn text(bytes: &[u8]) -> Result<&str, Flaw> {
    if bytes.len() > MAX_BYTES {
        let message = format!("the file has {} bytes, over the limit of 4 MiB", bytes.len());
        return Err(Flaw { place: None, message, hint: Some("is this the right file?".into()) });
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let place = end_of(&String::from_utf8_lossy(good));
        Flaw::new(place, "the file is not UTF-8 text").hint("save it as UTF-8")
    })?;
    let odd = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    if let Some((at, found)) = text.char_indices().find(|(_, c)| odd(*c)) {
        let place = end_of(text.get(..at).unwrap_or_default());
        let message = format!("the file contains the control character {found:?}");
        return Err(Flaw::new(place, message).hint("a configuration is plain text: remove it"));
    }
    Ok(text)
}

/// The place just behind `text`.
fn end_of(text: &str) -> Place {
    let line = text.matches('\n').count() + 1;
    let last = text.rsplit('\n').next().unwrap_or_default();
    Place { line, column: last.chars().count() + 1 }
}
