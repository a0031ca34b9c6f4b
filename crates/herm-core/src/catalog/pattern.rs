//! Shell-style patterns as Python's `fnmatch` reads them, case-sensitive.

/// `*`, `?`, `[...]`, `[!...]`; all else stands for itself. There is no escape: `[*]` is a star.
///
/// Matching takes at most (length of the name) times (length of the pattern) steps, whatever they
/// hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pattern(Vec<Piece>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    /// `*`
    Many,
    /// `?`
    One,
    /// A character.
    Just(char),
    /// A set, of ranges with both ends.
    Set { not: bool, ranges: Vec<(char, char)> },
}

impl Pattern {
    /// Reads a pattern; every text is one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let mut pieces = Vec::new();
        let mut rest = text.as_slice();
        while let Some((&first, behind)) = rest.split_first() {
            rest = behind;
            match first {
                '*' if pieces.last() == Some(&Piece::Many) => {}
                '*' => pieces.push(Piece::Many),
                '?' => pieces.push(Piece::One),
                '[' => match set(behind) {
                    Some((piece, behind)) => {
                        pieces.push(piece);
                        rest = behind;
                    }
                    None => pieces.push(Piece::Just('[')),
                },
                other => pieces.push(Piece::Just(other)),
            }
        }
        Self(pieces)
    }

    /// Whether the whole name fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut piece) = (0, 0);
        // Where to go on when the last star has to take one character more.
        let mut retry: Option<(usize, usize)> = None;
        while let Some(found) = name.get(at) {
            match self.0.get(piece) {
                Some(Piece::Many) => {
                    retry = Some((at, piece + 1));
                    piece += 1;
                }
                Some(wanted) if wanted.takes(*found) => {
                    at += 1;
                    piece += 1;
                }
                _ => {
                    let Some((from, behind)) = retry else { return false };
                    retry = Some((from + 1, behind));
                    (at, piece) = (from + 1, behind);
                }
            }
        }
        self.0.iter().skip(piece).all(|left| *left == Piece::Many)
    }
}

impl Piece {
    fn takes(&self, found: char) -> bool {
        match self {
            Self::Many | Self::One => true,
            Self::Just(wanted) => *wanted == found,
            Self::Set { not, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&found)) != *not
            }
        }
    }
}

/// A set behind its `[`, and what follows it. Without a `]` there is none. A `]` at the beginning
/// belongs to the set, as does a `-` at either end.
fn set(text: &[char]) -> Option<(Piece, &[char])> {
    let not = text.first() == Some(&'!');
    let start = usize::from(not);
    let end = text.iter().skip(start + 1).position(|c| *c == ']')? + start + 1;
    let (mut inside, behind) = (text.get(start..end)?, text.get(end + 1..)?);
    let mut ranges = Vec::new();
    while let Some(&low) = inside.first() {
        let (range, used) = match inside {
            [_, '-', high, ..] => ((low, *high), 3),
            _ => ((low, low), 1),
        };
        // A range that runs backwards holds nothing.
        ranges.push(range);
        inside = inside.get(used..)?;
    }
    Some((Piece::Set { not, ranges }, behind))
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_match_as_pythons_fnmatch_does() {
        // Pattern, names that fit, names that do not; made with Python 3's `fnmatch.fnmatchcase`.
        let table: &[(&str, &[&str], &[&str])] = &[
            ("list_*", &["list_", "list_a", "list_a/b\nc"], &["list", "xlist_a", "List_a"]),
            ("?", &["a", "é", "*"], &["", "ab"]),
            ("", &[""], &["a"]),
            ("*", &["", "anything"], &[]),
            ("a*b*c", &["abc", "axxbyyc", "abcbc"], &["ab", "acb"]),
            ("[abc]x", &["ax", "cx"], &["dx", "x"]),
            ("[!abc]x", &["dx", "!x"], &["ax", "x"]),
            ("[^a]", &["^", "a"], &["b"]),
            ("[]a]", &["]", "a"], &["[", "[]a]"]),
            ("[!]a]", &["b", "!"], &["]", "a"]),
            ("[a-c-e]", &["b", "-", "e"], &["d"]),
            ("[-a]", &["-", "a"], &["b"]),
            ("[a-]", &["-", "a"], &["b"]),
            ("[c-a]", &[], &["a", "b", "c", "-"]),
            ("[!c-a]", &["a", "z"], &[""]),
            ("[abc", &["[abc"], &["a"]),
            ("[]", &["[]"], &["]"]),
            ("[!]", &["[!]"], &["a"]),
            ("[*]", &["*"], &["a"]),
            ("a\\*", &["a\\", "a\\x"], &["a*"]),
            ("a.b", &["a.b"], &["axb"]),
        ];
        for (pattern, fits, others) in table {
            let read = Pattern::new(pattern);
            for name in *fits {
                assert!(read.matches(name), "{pattern} should match {name}");
            }
            for name in *others {
                assert!(!read.matches(name), "{pattern} should not match {name}");
            }
        }
    }

    #[test]
    fn a_pattern_of_many_stars_ends_soon() {
        let pattern = Pattern::new(&("a*".repeat(500) + "b"));
        assert!(!pattern.matches(&"a".repeat(10_000)));
    }
}
