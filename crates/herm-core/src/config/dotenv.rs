//! The file of secrets: `NAME=value`, one a line.

use super::issue::Issue;
use super::tree::MAX_BYTES;
use crate::secret::Secret;

/// Reads a `.env` file. `file` names it in issues.
///
/// A line is empty, a comment (`#`), or `NAME=value` with `export` before it or not. A bare value
/// ends at its last character or before a ` #`; one in single quotes is literal; one in double
/// quotes may hold `\n`, `\r`, `\t`, `\"`, `\\`, `\$`; a quoted one may span lines. Variables are
/// not replaced. Pairs come in the order of the file: of a repeated name the last should win.
///
/// Lines that are none of these are reported by number, never by content, and left out.
#[must_use]
pub fn read(text: &str, file: &str) -> (Vec<(String, Secret)>, Vec<Issue>) {
    let mut reader = Reader { pairs: Vec::new(), issues: Vec::new(), file };
    if text.len() > MAX_BYTES {
        reader.issue(1, "the file is over the limit of 4 MiB");
        return (reader.pairs, reader.issues);
    }
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    while !rest.is_empty() {
        let used = reader.line(rest, line);
        let (done, next) = rest.split_at_checked(used).unwrap_or((rest, ""));
        line += done.matches('\n').count();
        rest = next;
    }
    (reader.pairs, reader.issues)
}

struct Reader<'a> {
    pairs: Vec<(String, Secret)>,
    issues: Vec<Issue>,
    file: &'a str,
}

impl Reader<'_> {
    /// Takes one line, or several if a quoted value spans them; returns the bytes used.
    fn line(&mut self, rest: &str, number: usize) -> usize {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line = rest.get(..end).unwrap_or(rest);
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return end;
        }
        let Some((name, value)) = line.split_once('=') else {
            self.issue(number, "the line is not of the form `NAME=value`");
            return end;
        };
        let name = name.trim();
        let name =
            name.strip_prefix("export").filter(|n| n.starts_with(' ')).unwrap_or(name).trim();
        if !is_name(name) {
            self.issue(number, "what stands before `=` is no name of a variable");
            return end;
        }
        let blanks = value.len() - value.trim_start_matches([' ', '\t']).len();
        let start = line.len() - value.len() + blanks;
        let from_value = rest.get(start..).unwrap_or_default();
        match from_value.chars().next() {
            Some(quote @ ('"' | '\'')) => match quoted(from_value, quote) {
                Ok((value, used)) => {
                    self.pairs.push((name.to_owned(), value.into()));
                    start + used
                }
                Err(message) => {
                    self.issue(number, message);
                    end
                }
            },
            _ => {
                self.pairs.push((name.to_owned(), bare(value).into()));
                end
            }
        }
    }

    fn issue(&mut self, line: usize, message: &str) {
        self.issues.push(Issue {
            file: self.file.to_owned(),
            line: Some(line),
            column: Some(1),
            message: message.to_owned(),
            hint: Some("the line is ignored until it is corrected".to_owned()),
            ..Issue::default()
        });
    }
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A value without quotes: up to a comment, which has a blank before it.
fn bare(value: &str) -> &str {
    let comment = value.char_indices().find(|(at, found)| {
        let before = value.get(..*at).unwrap_or_default();
        *found == '#' && (before.is_empty() || before.ends_with([' ', '\t']))
    });
    comment.and_then(|(at, _)| value.get(..at)).unwrap_or(value).trim()
}

/// A quoted value at the beginning of `text`: the value, and the bytes up to the end of its line.
fn quoted(text: &str, quote: char) -> Result<(String, usize), &'static str> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    let end = loop {
        match chars.next() {
            Some((at, found)) if found == quote => break at + 1,
            Some((_, '\\')) if quote == '"' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((_, plain @ ('"' | '\\' | '$'))) => value.push(plain),
                Some((_, other)) => value.extend(['\\', other]),
                None => return Err("a quoted value is not closed"),
            },
            Some((_, found)) => value.push(found),
            None => return Err("a quoted value is not closed"),
        }
    };
    let behind = text.get(end..).unwrap_or_default();
    let line = behind.find('\n').map_or(behind.len(), |at| at + 1);
    let more = behind.get(..line).unwrap_or_default().trim();
    if !more.is_empty() && !more.starts_with('#') {
        return Err("something stands behind the closing quote");
    }
    Ok((value, end + line))
}

#[cfg(test)]
mod tests {
    use super::read;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let (pairs, issues) = read(text, ".env");
        assert_eq!(issues, []);
        pairs.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
    }

    #[test]
    fn every_spelling_of_a_value_is_read() {
        let text = "\u{feff}# c\r\n\r\nA=1 # c\r\nexport B = x#y \nC='a\\n # $D'\nD=\"a\\n\\\"\\$\\q\" # c\nE=\n\
                    F=\"two\nlines\"\nG=a=b\nexported=1\nA=2";
        let expected = [
            ("A", "1"),
            ("B", "x#y"),
            ("C", "a\\n # $D"),
            ("D", "a\n\"$\\q"),
            ("E", ""),
            ("F", "two\nlines"),
            ("G", "a=b"),
            ("exported", "1"),
            ("A", "2"),
        ];
        assert_eq!(pairs(text), expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }

    #[test]
    fn bad_lines_are_told_by_number_and_cost_only_themselves() {
        let (pairs, issues) =
            read("A=1\nsecret123\n1X=2\nB=\"open\nC='x' y\nD=\"a\nb\"\nE E=1\nF=3\n", ".env");
        let lines: Vec<_> = issues.iter().filter_map(|issue| issue.line).collect();
        // The quote of line 4 closes on line 6, with more behind it.
        assert_eq!(lines, [2, 3, 4, 5, 8]);
        assert_eq!(pairs.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["A", "D", "F"]);
        assert!(!format!("{issues:?} {pairs:?}").contains("secret123"));
        assert_eq!(read(&"x\n".repeat(3 << 20), ".env").1.len(), 1);
    }
}
