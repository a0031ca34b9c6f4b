//! Collects what is wrong, so that all of it is told at once.

use std::sync::Arc;

use crate::config::issue::Issue;
use crate::config::tree::{Flaw, Mapping, Node, Place, Value};

/// At most so many of a kind: a file of junk should not bury its reader.
const MOST: usize = 200;

/// Errors and warnings so far, and whom the next ones concern.
pub(super) struct Report {
    pub(super) file: Arc<str>,
    server: Option<String>,
    errors: Vec<Issue>,
    warnings: Vec<Issue>,
}

impl Report {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.into(), server: None, errors: Vec::new(), warnings: Vec::new() }
    }

    /// From here on about this server, or about the file.
    pub(super) fn about(&mut self, server: Option<&str>) {
        self.server = server.map(str::to_owned);
    }

    /// Notes an error.
    pub(super) fn error(
        &mut self,
        place: Place,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Issue {
        let issue = self.issue(place, key, &message.into());
        note(&mut self.errors, issue)
    }

    /// Notes a warning.
    pub(super) fn warn(
        &mut self,
        place: Place,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Issue {
        let issue = self.issue(place, key, &message.into());
        note(&mut self.warnings, issue)
    }

    /// Notes why a file is unreadable.
    pub(super) fn flaw(&mut self, flaw: Flaw) {
        let mut issue = self.issue(flaw.place.unwrap_or_default(), "", &flaw.message);
        issue.hint = flaw.hint;
        if flaw.place.is_none() {
            (issue.line, issue.column) = (None, None);
        }
        note(&mut self.errors, issue);
    }

    /// Notes every repeated key within `node`.
    pub(super) fn repeats(&mut self, node: &Node, key: &str) {
        match &node.value {
            Value::Scalar { .. } => {}
            Value::Sequence(items) => items.iter().for_each(|item| self.repeats(item, key)),
            Value::Mapping(mapping) => {
                self.repeats_here(mapping, key);
                for entry in &mapping.entries {
                    self.repeats(&entry.value, &join(key, &entry.key));
                }
            }
        }
    }

    /// Notes the repeated keys of one mapping, not of those within.
    pub(super) fn repeats_here(&mut self, mapping: &Mapping, key: &str) {
        for repeat in &mapping.repeats {
            let message = format!(
                "the key `{}` stands twice, first on line {}, column {}",
                repeat.key, repeat.first.line, repeat.first.column
            );
            self.error(repeat.again, &join(key, &repeat.key), message)
                .hint("remove or rename one of the two");
        }
    }

    /// How many errors there are, to see whether a step added some.
    pub(super) fn count(&self) -> usize {
        self.errors.len()
    }

    /// The errors since `count`, in the order of the file.
    pub(super) fn since(&self, count: usize) -> Vec<Issue> {
        let mut issues = self.errors.get(count..).unwrap_or_default().to_vec();
        issues.sort_by_key(|issue| (issue.line, issue.column));
        issues
    }

    /// Errors and warnings, in the order of the file.
    pub(super) fn done(mut self) -> (Vec<Issue>, Vec<Issue>) {
        for list in [&mut self.errors, &mut self.warnings] {
            list.sort_by_key(|issue| (issue.line, issue.column));
            if list.len() > MOST {
                let more = list.len() - MOST;
                list.truncate(MOST);
                list.push(Issue {
                    file: self.file.to_string(),
                    message: format!("and {more} more"),
                    ..Issue::default()
                });
            }
        }
        (self.errors, self.warnings)
    }

    fn issue(&self, place: Place, key: &str, message: &str) -> Issue {
        Issue {
            server: self.server.as_deref().map(|server| tame(server, 100)),
            file: self.file.to_string(),
            line: Some(place.line),
            column: Some(place.column),
            key: (!key.is_empty()).then(|| tame(key, 200)),
            message: tame(message, 500),
            hint: None,
        }
    }
}

impl Issue {
    /// Adds what to do.
    pub(super) fn hint(&mut self, hint: impl Into<String>) {
        self.hint = Some(hint.into());
    }

    /// Adds the nearest known spelling, if there is one.
    pub(super) fn nearest<'a>(&mut self, written: &str, known: impl Iterator<Item = &'a str>) {
        if let Some(name) = crate::config::keys::nearest(written, known) {
            self.hint = Some(format!("did you mean `{name}`?"));
        }
    }
}

fn note(list: &mut Vec<Issue>, issue: Issue) -> &mut Issue {
    let at = list.len();
    list.push(issue);
    &mut list[at]
}

/// Text of a file on its way to a screen: bounded, without control characters.
fn tame(text: &str, most: usize) -> String {
    let mut tamed: String = text.chars().take(most).collect();
    if tamed.len() < text.len() {
        tamed.push('…');
    }
    tamed.replace(char::is_control, "\u{fffd}")
}

/// A key path.
pub(super) fn join(block: &str, key: &str) -> String {
    if block.is_empty() { key.to_owned() } else { format!("{block}.{key}") }
}
