//! The only place that writes: data to standard output, all else to standard error.
//!
//! Invariant: text that is not JSON passes [`clean`] on its way out, and in JSON the same characters
//! are written as escapes, so nothing that a server sent can move the cursor, change colours or turn
//! the direction of writing. Colours are put in here, after cleaning.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;

/// How much is said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Words {
    /// Data, warnings and errors.
    Few,
    /// Notes too.
    Some,
    /// Everything.
    All,
}

/// What kind of output is wanted, and who reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) json: bool,
    pub(crate) words: Words,
    pub(crate) color: bool,
    /// A person sits at both ends: questions and progress may be shown.
    pub(crate) person: bool,
}

impl Look {
    /// What the options ask for, given what our streams are.
    pub(crate) fn detect(json: bool, words: Words, no_color: bool, no_input: bool) -> Self {
        let plain = no_color || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Self {
            json,
            words,
            color: !plain && io::stdout().is_terminal() && io::stderr().is_terminal(),
            person: !json && !no_input && io::stdin().is_terminal() && io::stderr().is_terminal(),
        }
    }
}

/// A symbol before a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// It went well.
    Good,
    /// It did not.
    Bad,
}

/// Two writers.
pub(crate) struct Ui {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    pub(crate) look: Look,
}

impl std::fmt::Debug for Ui {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ui").field("look", &self.look).finish_non_exhaustive()
    }
}

impl Ui {
    /// The streams of this process.
    pub(crate) fn new(look: Look) -> Self {
        Self { out: Box::new(BufWriter::new(io::stdout())), err: Box::new(io::stderr()), look }
    }

    /// A line, or several, of data.
    pub(crate) fn data(&mut self, text: impl Display) -> io::Result<()> {
        write_line(&mut *self.out, &text.to_string())
    }

    /// A line of data behind a symbol.
    pub(crate) fn marked(&mut self, mark: Mark, text: impl Display) -> io::Result<()> {
        let (symbol, color) = match mark {
            Mark::Good => ("✓", 32),
            Mark::Bad => ("✗", 31),
        };
        if self.look.color {
            write!(self.out, "  \x1b[{color}m{symbol}\x1b[0m ")?;
        } else {
            write!(self.out, "  {symbol} ")?;
        }
        self.data(one_message(&text.to_string()))
    }

    /// One JSON document and a line feed.
    pub(crate) fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        document.serialize(&mut serde_json::Serializer::with_formatter(&mut *self.out, Plain))?;
        self.out.write_all(b"\n")
    }

    /// Bytes as they are (a completion script).
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Something worth knowing beside the data.
    pub(crate) fn note(&mut self, text: impl Display) -> io::Result<()> {
        if self.look.words == Words::Few { Ok(()) } else { self.say(&text.to_string()) }
    }

    /// Something for those who asked for everything.
    pub(crate) fn detail(&mut self, text: impl Display) -> io::Result<()> {
        if self.look.words == Words::All { self.say(&text.to_string()) } else { Ok(()) }
    }

    /// Something that is likely to be a mistake.
    pub(crate) fn warn(&mut self, text: impl Display) -> io::Result<()> {
        self.headed("warning", 33, &text.to_string())
    }

    /// Why it did not work.
    pub(crate) fn error(&mut self, text: impl Display) -> io::Result<()> {
        self.headed("error", 31, &text.to_string())
    }

    /// What to do about it.
    pub(crate) fn hint(&mut self, text: impl Display) -> io::Result<()> {
        self.headed("hint", 36, &text.to_string())
    }

    /// Everything written so far arrives.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.err.flush()
    }

    fn headed(&mut self, head: &str, color: u8, text: &str) -> io::Result<()> {
        self.out.flush()?; // so that data and errors stand in order on a terminal
        if self.look.color {
            write!(self.err, "\x1b[{color}m{head}:\x1b[0m ")?;
        } else {
            write!(self.err, "{head}: ")?;
        }
        write_line(&mut *self.err, &one_message(text))
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        write_line(&mut *self.err, text)
    }
}

/// Further lines of a message stand in from the margin: what a server says in an error must not look
/// like a hint of ours, or like an error of its own.
fn one_message(text: &str) -> Cow<'_, str> {
    let mut lines = text.trim_end().split('\n');
    let Some(first) = lines.next().filter(|first| first.len() < text.trim_end().len()) else {
        return Cow::Borrowed(text);
    };
    let mut message = first.to_owned();
    for line in lines {
        message.push_str(if line.starts_with("  ") || line.is_empty() { "\n" } else { "\n  " });
        message.push_str(line);
    }
    Cow::Owned(message)
}

/// JSON as `serde_json` writes it, but for what [`clean`] takes out of other text: that is written
/// as an escape, which means the same to whoever parses it.
struct Plain;

impl serde_json::ser::Formatter for Plain {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        escaped(to, text)
    }

    fn write_raw_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        escaped(to, text)
    }
}

fn escaped<W: ?Sized + Write>(to: &mut W, mut text: &str) -> io::Result<()> {
    // Below DEL there is nothing: JSON allows no control characters but white space between tokens.
    let hostile = |c: char| c >= '\u{7f}' && is_hostile(c);
    while let Some((at, c)) = text.char_indices().find(|(_, c)| hostile(*c)) {
        let (before, after) = text.split_at(at);
        to.write_all(before.as_bytes())?;
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(to, "\\u{unit:04x}")?;
        }
        text = after.get(c.len_utf8()..).unwrap_or_default();
    }
    to.write_all(text.as_bytes())
}

fn write_line(to: &mut dyn Write, text: &str) -> io::Result<()> {
    let text = clean(text);
    to.write_all(text.as_bytes())?;
    if text.ends_with('\n') { Ok(()) } else { to.write_all(b"\n") }
}

/// Shows text to a person in the middle of a call (a question), outside the order of [`Ui`].
pub(crate) fn ask_aloud(text: &str) -> io::Result<()> {
    let mut err = io::stderr().lock();
    err.write_all(clean(text).as_bytes())?;
    err.flush()
}

/// Takes out what could mislead a reader or steer a terminal: escape sequences, control characters
/// but line feed and tab, marks that turn the direction of writing, invisible tag characters.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            c if is_hostile(c) => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

fn is_hostile(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(rest),
        Some(' '..='~') => {
            rest.next();
        }
        _ => {} // an escape before nothing that belongs to it
    }
}

/// Parameters, then one final character. Stops before a line feed.
fn skip_control_sequence(rest: &mut Rest<'_>) {
    while let Some(c) = rest.next_if(|c| matches!(c, ' '..='~')) {
        if matches!(c, '@'..='~') {
            return;
        }
    }
}

/// Up to BEL or ESC \, at most the rest of the line: an unended sequence must not eat the text.
fn skip_string(rest: &mut Rest<'_>) {
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
            return;
        }
    }
}

/// The first line that says something, at most `width` characters.
pub(crate) fn first_line(text: &str, width: usize) -> String {
    let text = clean(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shorten(line, width)
}

/// At most `width` characters, the last one a `…` if there were more.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.chars().nth(width).is_none() {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// At most `width` characters, with ` … ` for the middle if there were more: both ends are seen.
pub(crate) fn shorten_middle(text: &str, width: usize) -> String {
    const GAP: &str = " … ";
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(GAP.chars().count());
    let tail = room / 2;
    let head = text.chars().take(room - tail);
    head.chain(GAP.chars()).chain(text.chars().skip(length - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Plain, clean, first_line, one_message, shorten, shorten_middle};
    use serde::Serialize;

    #[test]
    fn json_holds_no_character_that_steers_a_terminal() {
        let raw = "{\"a\":\r\n \"\u{9b}31m\u{202e}x\u{7f}\u{e0041}ü\"}";
        let raw = serde_json::value::RawValue::from_string(raw.to_owned()).unwrap();
        let mut out = Vec::new();
        let document = ("\u{9b}2J\u{1b}", raw);
        document.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Plain)).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(
            out,
            "[\"\\u009b2J\\u001b\",{\"a\":\r\n \"\\u009b31m\\u202ex\\u007f\\udb40\\udc41ü\"}]"
        );
        let back: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(back[1]["a"], "\u{9b}31m\u{202e}x\u{7f}\u{e0041}ü");
    }

    #[test]
    fn a_servers_error_cannot_look_like_our_hint() {
        assert_eq!(
            one_message("it said: x\nhint: run y\n\nz\n"),
            "it said: x\n  hint: run y\n\n  z"
        );
        assert_eq!(one_message("a:1: x\n  1 | y\n  hint: z"), "a:1: x\n  1 | y\n  hint: z");
    }

    #[test]
    fn server_text_cannot_steer_the_terminal() {
        let table = [
            ("plain\ttext\nü 日", "plain\ttext\nü 日"),
            ("a\u{1b}[31mred\u{1b}[0m", "ared"),
            ("\u{1b}]0;title\u{7}b", "b"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9b}2Jc", "c"),
            ("over\rwritten\u{8}\u{0}", "overwritten"),
            ("a\u{202e}txt.exe\u{2066}", "atxt.exe"),
            ("tag\u{e0041}\u{e0042}", "tag"),
            ("\u{1b}]unended\nnext line", "\nnext line"),
            ("\u{1b}", ""),
            ("\u{1b}[31\nnext", "\nnext"),
        ];
        for (dirty, expected) in table {
            assert_eq!(clean(dirty), expected, "{dirty:?}");
        }
    }

    #[test]
    fn a_description_is_one_line() {
        assert_eq!(first_line("\n  \u{1b}[1mReads\u{1b}[0m a file.  \nMore", 80), "Reads a file.");
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("abcd", 4), "abcd");
        assert_eq!(shorten_middle("abcdefghij", 9), "abc … hij");
        assert_eq!(shorten_middle("abcdefghi", 9), "abcdefghi");
    }
}
