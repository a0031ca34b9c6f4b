//! What a server wrote, made fit for a person's eyes: no control characters, no escape sequences,
//! nothing invisible, nothing that turns the direction of text.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::CharIndices;

/// `text` without C0 and C1 controls (line feed and tab stay), whole ANSI escape sequences,
/// direction controls, the tag characters U+E0000 to U+E007F, and zero-width characters.
///
/// Linear. Borrowed when there was nothing to strip.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(stripped) else { return Cow::Borrowed(text) };
    let (head, tail) = text.split_at(first);
    let mut kept = String::with_capacity(text.len());
    kept.push_str(head);
    let mut chars = tail.char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        match sequence(c, &mut chars) {
            Some(kind) => skip(kind, &mut chars, tail),
            None if stripped(c) => {}
            None => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

/// `text` cleaned and on one line of at most `max_chars` characters: blanks in a row become one,
/// a cut shows as `…`.
#[must_use]
pub fn line(text: &str, max_chars: usize) -> String {
    let cleaned = self::text(text);
    let mut words = cleaned.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    // A character has at most four bytes: past this many there are more than enough.
    let enough = max_chars.saturating_mul(4);
    for word in words {
        if line.len() > enough {
            break;
        }
        line.push(' ');
        line.push_str(word);
    }
    if line.chars().nth(max_chars).is_none() {
        return line;
    }
    let Some(room) = max_chars.checked_sub(1) else { return String::new() };
    line.chars().take(room).chain(['…']).collect()
}

/// True for a character that no person can see, and that changes what a person sees.
fn stripped(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// An escape sequence whose introducer was read.
#[derive(Clone, Copy)]
enum Sequence {
    /// Parameters, intermediates, one final character.
    Control,
    /// A text up to its terminator (a window title, a link, a device command).
    String,
    /// Intermediates, one final character.
    Short,
}

type Chars<'a> = Peekable<CharIndices<'a>>;

/// Which sequence `c` begins, in its 7-bit or 8-bit spelling; takes the introducer.
fn sequence(c: char, chars: &mut Chars<'_>) -> Option<Sequence> {
    match c {
        '\u{9b}' => Some(Sequence::Control),
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => Some(Sequence::String),
        '\u{1b}' => {
            let kind = match chars.peek()?.1 {
                '[' => Sequence::Control,
                'P' | 'X' | ']' | '^' | '_' => Sequence::String,
                _ => return Some(Sequence::Short),
            };
            chars.next();
            Some(kind)
        }
        _ => None,
    }
}

/// Goes past the rest of a sequence.
fn skip(kind: Sequence, chars: &mut Chars<'_>, text: &str) {
    match kind {
        Sequence::Control => {
            while chars.next_if(|(_, c)| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
            chars.next_if(|(_, c)| matches!(c, '\u{40}'..='\u{7e}'));
        }
        Sequence::Short => {
            while chars.next_if(|(_, c)| matches!(c, '\u{20}'..='\u{2f}')).is_some() {}
            chars.next_if(|(_, c)| matches!(c, '\u{30}'..='\u{7e}'));
        }
        Sequence::String => skip_string(chars, text),
    }
}

/// Goes past a text and its terminator. Without one on this line only the introducer is gone: the
/// rest is shown rather than lost.
fn skip_string(chars: &mut Chars<'_>, text: &str) {
    let Some((start, _)) = chars.peek().copied() else { return };
    let rest = text.get(start..).unwrap_or_default();
    let Some(end) = rest.find(|c: char| c.is_control() && c != '\t') else { return };
    let found = rest.get(end..).unwrap_or_default();
    let terminator = ["\u{7}", "\u{9c}", "\u{1b}\\"].iter().find(|t| found.starts_with(**t));
    if let Some(terminator) = terminator {
        let past = start + end + terminator.len();
        while chars.next_if(|(at, _)| *at < past).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::{line, text};
    use std::borrow::Cow;

    #[test]
    fn plain_text_is_borrowed_and_the_rest_is_stripped() {
        let cases = [
            ("", ""),
            ("a\n\tb é 語 🦀", "a\n\tb é 語 🦀"),
            ("a\r\nb\u{0}\u{7f}\u{85}c", "a\nbc"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}[2J\u{1b}[1;1Hb", "ab"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9d}0;title\u{9c}x", "x"),
            ("\u{1b}Pq#0\u{1b}\\x", "x"),
            ("\u{1b}(Bx\u{1b}7y\u{1b}cz", "xyz"),
            ("\u{1b}]0;no end", "0;no end"),
            ("\u{1b}]0;no end\nnext", "0;no end\nnext"),
            ("x\u{1b}", "x"),
            ("x\u{1b}[", "x"),
            ("\u{1b}[3\u{1b}[1mx", "x"),
            ("pay \u{202e}01$\u{202c} \u{2066}now\u{2069}\u{200e}\u{200f}\u{61c}", "pay 01$ now"),
            ("hi\u{e0001}\u{e0041}\u{e007f}", "hi"),
            ("pass\u{200b}word\u{200d}\u{2060}\u{feff}", "password"),
        ];
        for (dirty, clean) in cases {
            assert_eq!(text(dirty), clean, "{dirty:?}");
        }
        assert!(matches!(text("a\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_mixture_of_pieces_leaves_anything_to_strip() {
        let pieces =
            ["\u{1b}", "[", "]", "\\", "\u{9b}", "\u{7}", "0;", "m", "é", "\u{200b}", "\n", "P"];
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let count = random.usize(0..12);
            let mixed: String = (0..count).map(|_| pieces[random.usize(0..pieces.len())]).collect();
            let once = text(&mixed);
            assert!(matches!(text(&once), Cow::Borrowed(_)), "{mixed:?}");
        }
    }

    #[test]
    fn many_openers_without_an_end_cost_no_quadratic_time() {
        let many = "\u{1b}]x".repeat(500_000);
        assert_eq!(text(&many).len(), 500_000);
    }

    #[test]
    fn a_line_is_one_line_and_bounded() {
        assert_eq!(line("  a\n\n b\tc\u{1b}[0m ", 10), "a b c");
        assert_eq!(line("abcdef", 6), "abcdef");
        assert_eq!(line("abcdef", 5), "abcd…");
        assert_eq!(line("語語語", 2), "語…");
        assert_eq!(line("ab", 1), "…");
        assert_eq!(line("ab", 0), "");
        assert_eq!(line("", 0), "");
        assert_eq!(line(&"word ".repeat(100_000), 9), "word wor…");
    }
}
