//! Reads the keys of one mapping as what they should be.

use std::time::Duration;

use super::report::{Report, join};
use crate::config::keys::{self, TOP};
use crate::config::tree::{Entry, Mapping, Node, Value};

/// The longest time that a key takes: ten years.
pub(super) const LONGEST: f64 = 315_360_000.0;

/// Words of other clients for keys of ours.
const OTHER_WORDS: [(&str, &str); 4] = [
    ("type", "`transport`, or nothing beside `command`"),
    ("disabled", "`enabled: false`"),
    ("environment", "`env`"),
    ("serverUrl", "`url`"),
];

/// A mapping whose keys are known: the entry itself, or a block such as `tools`.
#[derive(Clone, Copy)]
pub(super) struct Block<'t> {
    mapping: Option<&'t Mapping>,
    /// Its path below the entry; empty for the entry itself.
    path: &'static str,
}

impl<'t> Block<'t> {
    pub(super) fn new(mapping: &'t Mapping, path: &'static str) -> Self {
        Self { mapping: Some(mapping), path }
    }

    /// The block under `key`; null and absent are an empty one.
    pub(super) fn block(&self, key: &'static str, report: &mut Report) -> Self {
        let node = self.get(key);
        let mapping = node.and_then(Node::mapping);
        if let (Some(node), None) = (node, mapping)
            && !node.is_null()
        {
            report.error(node.place, key, format!("should be a mapping, is {}", node.kind()));
        }
        Self { mapping, path: key }
    }

    pub(super) fn entries(&self) -> &'t [Entry] {
        self.mapping.map(|mapping| mapping.entries.as_slice()).unwrap_or_default()
    }

    /// Errors for keys that the table does not have.
    pub(super) fn unknown(&self, report: &mut Report) {
        for entry in self.entries() {
            let path = join(self.path, &entry.key);
            if keys::find(&path).is_none() || entry.key.contains('.') {
                let known = keys::below(self.path);
                let other = OTHER_WORDS.iter().find(|(word, _)| *word == path);
                let message = format!("the key `{}` is unknown", entry.key);
                let issue = report.error(entry.place, &path, message);
                match other {
                    Some((_, ours)) => issue.hint(format!("write {ours}")),
                    None => issue.nearest(&entry.key, known),
                }
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'t Node> {
        let path = join(self.path, key);
        let known = keys::find(&path).is_some() || TOP.iter().any(|key| key.path == path);
        debug_assert!(known, "{key} is not in the table");
        self.mapping?.get(key)
    }

    /// A key that should be a single value, and is.
    fn scalar(&self, key: &str, wanted: &str, report: &mut Report) -> Option<(&'t Node, &'t str)> {
        let node = self.get(key)?;
        if let Some(text) = node.text() {
            return Some((node, text.trim()));
        }
        self.wrong(node, key, wanted, report);
        None
    }

    pub(super) fn wrong(&self, node: &Node, key: &str, wanted: &str, report: &mut Report) {
        let message = format!("should be {wanted}, is {}", node.kind());
        let issue = report.error(node.place, &join(self.path, key), message);
        if matches!(&node.value, Value::Scalar { text, .. } if text == "~") {
            issue.hint("a bare `~` is null in YAML: write \"~\" for the home folder");
        } else if node.is_null() {
            issue.hint("give it a value or remove the key");
        } else if node.text().is_some_and(|text| text.contains("${")) {
            issue.hint("variables work in text values only");
        }
    }

    pub(super) fn text(&self, key: &str, report: &mut Report) -> Option<(&'t Node, &'t str)> {
        let (node, text) = self.scalar(key, "text", report)?;
        if text.is_empty() {
            report
                .error(node.place, &join(self.path, key), "is empty")
                .hint("give it a value or remove the key");
            return None;
        }
        Some((node, text))
    }

    pub(super) fn flag(&self, key: &str, report: &mut Report) -> Option<bool> {
        let (node, text) = self.scalar(key, "true or false", report)?;
        let found = boolean(text);
        if found.is_none() {
            self.wrong(node, key, "true or false", report);
        }
        found
    }

    /// A time of at least `floor`; a shorter one is raised to it, with a warning. `None` for 0
    /// and for what is wrong, which is reported.
    pub(super) fn seconds(&self, key: &str, floor: f64, report: &mut Report) -> Option<Duration> {
        let (node, text) = self.scalar(key, "a number of seconds", report)?;
        let path = join(self.path, key);
        let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) else {
            self.wrong(node, key, "a number of seconds", report);
            return None;
        };
        if !(0.0..=LONGEST).contains(&number) || (number == 0.0 && floor == 0.0) {
            let message = format!("should be over 0 and at most {LONGEST} seconds");
            report.error(node.place, &path, message);
            return None;
        }
        if number < floor {
            report.warn(
                node.place,
                &path,
                format!("is raised to the least value, {floor} seconds"),
            );
        }
        Duration::try_from_secs_f64(number.max(floor)).ok()
    }

    /// A time that 0 switches off.
    pub(super) fn off_or_seconds(&self, key: &str, report: &mut Report) -> Option<Duration> {
        let zero = |node: &Node| node.text().is_some_and(|t| t.trim().parse() == Ok(0.0));
        if self.get(key).is_some_and(zero) { None } else { self.seconds(key, 0.0, report) }
    }

    /// A whole number between `least` and `most`.
    pub(super) fn count(&self, key: &str, bounds: (u64, u64), report: &mut Report) -> Option<u64> {
        let (node, text) = self.scalar(key, "a whole number", report)?;
        let (least, most) = bounds;
        let whole = text.strip_suffix(".0").unwrap_or(text).replace('_', "");
        let Ok(number) = whole.parse::<u64>() else {
            self.wrong(node, key, "a whole number", report);
            return None;
        };
        if !(least..=most).contains(&number) {
            let message = format!("should be between {least} and {most}");
            report.error(node.place, &join(self.path, key), message);
            return None;
        }
        Some(number)
    }

    /// One of these words, in any case.
    pub(super) fn word<T: Copy>(
        &self,
        key: &str,
        words: &[(&'static str, T)],
        report: &mut Report,
    ) -> Option<T> {
        let (node, text) = self.text(key, report)?;
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let message = format!("`{}` is none of {}", short(text), known.join(", "));
            report
                .error(node.place, &join(self.path, key), message)
                .nearest(text, words.iter().map(|(word, _)| *word));
        }
        found.map(|(_, value)| *value)
    }

    /// Names or patterns: a list, or text in which they are separated by commas or blanks.
    pub(super) fn names(&self, key: &str, report: &mut Report) -> Option<Vec<String>> {
        names(self.get(key)?, &join(self.path, key), report)
    }
}

/// See [`Block::names`].
pub(super) fn names(node: &Node, path: &str, report: &mut Report) -> Option<Vec<String>> {
    match &node.value {
        Value::Sequence(items) => {
            let mut found = Vec::new();
            for (index, item) in items.iter().enumerate() {
                match item.text() {
                    Some(text) => found.push(text.to_owned()),
                    None => {
                        let message = format!("should be text, is {}", item.kind());
                        report.error(item.place, &format!("{path}[{index}]"), message);
                    }
                }
            }
            Some(found)
        }
        Value::Scalar { text, .. } if !node.is_null() => {
            let parts = text.split(|c: char| c == ',' || c.is_whitespace());
            Some(parts.filter(|part| !part.is_empty()).map(str::to_owned).collect())
        }
        _ => {
            report.error(node.place, path, format!("should be a list or text, is {}", node.kind()));
            None
        }
    }
}

/// The words for true and false.
pub(super) fn boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match () {
        () if is(["true", "yes", "on", "1"]) => Some(true),
        () if is(["false", "no", "off", "0"]) => Some(false),
        () => None,
    }
}

/// A text short enough for a message.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
