//! The keys of a server with `command`.

use super::block::Block;
use super::report::{Report, join};
use super::shell;
use crate::config::server::{Origin, Stdio, Template};
use crate::config::tree::{self, Format, Node, Value};

pub(super) fn read(block: &Block<'_>, origin: &mut Origin, report: &mut Report) -> Option<Stdio> {
    block.word("transport", &[("stdio", ()), ("auto", ())], report);
    let args = args(block, origin, report);
    let env = pairs(block, "env", origin, report);
    for (name, _) in &env {
        if name.is_empty() || name.contains(['=', '\0']) {
            let place = origin.fields.get(join("env", name).as_str()).copied().unwrap_or_default();
            report.error(place, "env", format!("`{name}` cannot be the name of a variable"));
        }
    }
    let cwd = template(block, "cwd", origin, report);
    let pass_env = block.get("pass_env").filter(|node| !node.is_null());
    let pass_env = pass_env.and_then(|_| block.names("pass_env", report)).unwrap_or_default();
    let (node, command) = block.text("command", report)?;
    origin.fields.insert("command".into(), node.place);
    if block.get("args").is_none() && command.contains(char::is_whitespace) {
        report
            .warn(
                node.place,
                "command",
                "contains a space: all of it is taken as one program's name",
            )
            .hint("arguments belong in `args`");
    }
    Some(Stdio { command: Template(command.to_owned()), args, env, cwd, pass_env })
}

/// One text in which variables may stand.
pub(super) fn template(
    block: &Block<'_>,
    key: &str,
    origin: &mut Origin,
    report: &mut Report,
) -> Option<Template> {
    let (node, text) = block.text(key, report)?;
    origin.fields.insert(key.into(), node.place);
    Some(Template(text.to_owned()))
}

/// A mapping of names to text, in the order of the file, source text kept.
pub(super) fn pairs(
    block: &Block<'_>,
    key: &'static str,
    origin: &mut Origin,
    report: &mut Report,
) -> Vec<(String, Template)> {
    let mut pairs = Vec::new();
    for entry in block.block(key, report).entries() {
        let path = join(key, &entry.key);
        if let Some(template) = item(&entry.value, &path, origin, report) {
            pairs.push((entry.key.clone(), template));
        }
    }
    pairs
}

/// One scalar of `args`, `env` or `headers`; null is an error, since nobody can know what it meant.
fn item(node: &Node, path: &str, origin: &mut Origin, report: &mut Report) -> Option<Template> {
    let Some(text) = node.text() else {
        let issue = report.error(node.place, path, format!("should be text, is {}", node.kind()));
        if node.is_null() {
            issue.hint("for an empty text write \"\"");
        }
        return None;
    };
    origin.fields.insert(path.into(), node.place);
    Some(Template(text.to_owned()))
}

/// `args`: a list, or in old files text: a list as JSON or Python writes it, or a shell's words.
fn args(block: &Block<'_>, origin: &mut Origin, report: &mut Report) -> Vec<Template> {
    let Some(node) = block.get("args").filter(|node| !node.is_null()) else { return Vec::new() };
    match &node.value {
        Value::Sequence(items) => items
            .iter()
            .enumerate()
            .filter_map(|(index, node)| item(node, &format!("args[{index}]"), origin, report))
            .collect(),
        Value::Scalar { text, .. } => {
            let words = words(text).unwrap_or_else(|message| {
                report
                    .error(node.place, "args", message)
                    .hint("write a list: `args: [\"one\", \"two\"]`");
                Vec::new()
            });
            for index in 0..words.len() {
                origin.fields.insert(format!("args[{index}]").into(), node.place);
            }
            words.into_iter().map(Template).collect()
        }
        Value::Mapping(_) => {
            report.error(node.place, "args", "should be a list, is a mapping");
            Vec::new()
        }
    }
}

fn words(text: &str) -> Result<Vec<String>, String> {
    let text = text.trim();
    if !text.starts_with('[') {
        return shell::split(text);
    }
    // Both spellings of a list, JSON's and Python's, are flow sequences of YAML.
    let root = tree::read(text.as_bytes(), Format::Yaml).map_err(|flaw| flaw.message)?;
    let Value::Sequence(items) = &root.value else { return Err("is no list".to_owned()) };
    let item =
        |node: &Node| node.text().map(str::to_owned).ok_or("its items should be text".to_owned());
    items.iter().map(item).collect()
}
