//! Errors of a configuration, each with its line.

use herm_core::config::Template;

use crate::settings::Issue;
use crate::ui::shorten;

/// A line of an excerpt has no more characters than this.
const MAX_EXCERPT: usize = 120;

/// `file:line:column: …`, the line itself with a caret below, and what to do.
pub(crate) fn issue(issue: &Issue, text: &str) -> String {
    let mut shown = place(issue);
    if let Some(server) = &issue.server {
        shown = format!("{shown} server `{server}`:");
    }
    if let Some(key) = &issue.key {
        shown = format!("{shown} `{key}`:");
    }
    shown = format!("{shown} {}", issue.message);
    if let Some(excerpt) = issue.line.and_then(|line| excerpt(text, line, issue)) {
        shown = format!("{shown}\n{excerpt}");
    }
    match &issue.hint {
        Some(hint) => format!("{shown}\n  hint: {hint}"),
        None => shown,
    }
}

fn place(issue: &Issue) -> String {
    match (issue.line, issue.column) {
        (Some(line), Some(column)) => format!("{}:{line}:{column}:", issue.file),
        (Some(line), None) => format!("{}:{line}:", issue.file),
        (None, _) => format!("{}:", issue.file),
    }
}

/// The line with a caret below. Values that may be secret are left out, but for their variables: those of variables,
/// headers and arguments, and those behind a key that sounds like one.
fn excerpt(text: &str, line: usize, issue: &Issue) -> Option<String> {
    let content = text.lines().nth(line.checked_sub(1)?)?.replace('\t', " ");
    let content = if is_secret(issue, &content) { without_value(&content) } else { content };
    let head = format!("  {line} | ");
    let shown = format!("{head}{}", shorten(content.trim_end(), MAX_EXCERPT));
    let Some(at) = issue.column.and_then(|column| column.checked_sub(1)) else {
        return Some(shown);
    };
    if at > content.chars().count() || at >= MAX_EXCERPT {
        return Some(shown);
    }
    let pad = " ".repeat(head.chars().count() - 2 + at);
    Some(format!("{shown}\n  {pad}^"))
}

fn is_secret(issue: &Issue, line: &str) -> bool {
    let below = |block: &str| issue.key.as_deref().is_some_and(|key| key.starts_with(block));
    let line = line.to_ascii_lowercase();
    ["env", "headers", "args", "url", "oauth"].into_iter().any(below)
        || ["token", "secret", "password", "key", "auth", "cookie", "bearer", "://"]
            .iter()
            .any(|word| line.contains(word))
}

/// Up to the first colon; a line without one is hidden whole.
fn without_value(line: &str) -> String {
    match line.split_once(':') {
        Some((key, value)) if value.trim().is_empty() => format!("{key}:"),
        Some((key, value)) => {
            format!("{key}: {}", Template(value.trim().to_owned()).hidden())
        }
        None => "[REDACTED]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::issue;
    use crate::settings::Issue;

    #[test]
    fn the_line_stands_under_the_message_with_a_caret() {
        let text = "mcp_servers:\n  fs:\n    comand: npx\n    api_key: hunter2\n";
        let one = Issue {
            server: Some("fs".to_owned()),
            file: "config.yaml".to_owned(),
            line: Some(3),
            column: Some(5),
            key: Some("comand".to_owned()),
            message: "unknown key".to_owned(),
            hint: Some("did you mean `command`?".to_owned()),
        };
        insta::assert_snapshot!(issue(&one, text), @r"
        config.yaml:3:5: server `fs`: `comand`: unknown key
          3 |     comand: npx
                  ^
          hint: did you mean `command`?
        ");
        let secret = Issue { line: Some(4), column: None, ..one.clone() };
        assert!(!issue(&secret, text).contains("hunter2"));
        let beyond = Issue { line: Some(99), column: Some(7), ..one };
        insta::assert_snapshot!(issue(&beyond, text), @r"
        config.yaml:99:7: server `fs`: `comand`: unknown key
          hint: did you mean `command`?
        ");
    }
}
