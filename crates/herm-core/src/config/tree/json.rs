//! JSON to a tree. Comments and trailing commas are read, as the files of editors have them.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

use super::{Entry, Flaw, MAX_DEPTH, MAX_VALUES, Mapping, Node, Place, Repeat, Style, Value};

pub(super) fn read(text: &str) -> Result<Node, Flaw> {
    let mut reader = Reader { rest: text.chars().peekable(), at: START, values: 0 };
    reader.blank()?;
    if reader.rest.peek().is_none() {
        return Ok(Node { place: START, value: bare(String::new()) });
    }
    let node = reader.value(0)?;
    reader.blank()?;
    match reader.rest.peek() {
        None => Ok(node),
        Some(_) => Err(Flaw::new(reader.at, "the file goes on behind the end of its JSON value")),
    }
}

const START: Place = Place { line: 1, column: 1 };

fn bare(text: String) -> Value {
    Value::Scalar { text, style: Style::Plain }
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    at: Place,
    values: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let found = self.rest.next()?;
        if found == '\n' {
            self.at = Place { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(found)
    }

    fn wrong(&self, message: impl std::fmt::Display) -> Flaw {
        Flaw::new(self.at, format!("the file is not valid JSON: {message}"))
    }

    /// Skips blanks and comments.
    fn blank(&mut self) -> Result<(), Flaw> {
        while let Some(&found) = self.rest.peek() {
            match found {
                ' ' | '\t' | '\r' | '\n' => {
                    self.next();
                }
                '/' => self.comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Flaw> {
        let begin = self.wrong("`/` begins neither a value nor a comment");
        self.next();
        match self.next() {
            Some('/') => while self.next().is_some_and(|c| c != '\n') {},
            Some('*') => {
                let mut last = ' ';
                loop {
                    match self.next() {
                        Some('/') if last == '*' => break,
                        Some(found) => last = found,
                        None => return Err(self.wrong("a comment does not end")),
                    }
                }
            }
            _ => return Err(begin),
        }
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Node, Flaw> {
        let place = self.at;
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Flaw::new(place, format!("the file has more than {MAX_VALUES} values")));
        }
        if depth >= MAX_DEPTH {
            let message = format!("values are nested more than {MAX_DEPTH} deep");
            return Err(Flaw::new(place, message));
        }
        let value = match self.rest.peek() {
            Some('{') => Value::Mapping(self.mapping(depth)?),
            Some('[') => Value::Sequence(self.sequence(depth)?),
            Some('"') => Value::Scalar { text: self.string()?, style: Style::Quoted },
            _ => bare(self.word()?),
        };
        Ok(Node { place, value })
    }

    fn mapping(&mut self, depth: usize) -> Result<Mapping, Flaw> {
        let mut mapping = Mapping::default();
        let mut seen: HashMap<String, Place> = HashMap::new();
        self.next();
        while !self.closed('}', mapping.entries.is_empty() && mapping.repeats.is_empty())? {
            let place = self.at;
            if self.rest.peek() != Some(&'"') {
                return Err(self.wrong("a key in double quotes should stand here"));
            }
            let key = self.string()?;
            self.blank()?;
            if self.rest.peek() != Some(&':') {
                return Err(self.wrong("a `:` is missing behind a key"));
            }
            self.next();
            self.blank()?;
            let value = self.value(depth + 1)?;
            if let Some(&first) = seen.get(&key) {
                mapping.repeats.push(Repeat { key, first, again: place });
            } else {
                seen.insert(key.clone(), place);
                mapping.entries.push(Entry { key, place, value });
            }
        }
        Ok(mapping)
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Node>, Flaw> {
        let mut items = Vec::new();
        self.next();
        while !self.closed(']', items.is_empty())? {
            items.push(self.value(depth + 1)?);
        }
        Ok(items)
    }

    /// Steps over the comma before the next item, or over the closing bracket. A comma may stand
    /// before the bracket.
    fn closed(&mut self, bracket: char, first: bool) -> Result<bool, Flaw> {
        self.blank()?;
        if self.rest.peek() == Some(&',') && !first {
            self.next();
            self.blank()?;
        } else if !first && self.rest.peek() != Some(&bracket) {
            return Err(self.wrong(format!("a `,` or `{bracket}` is missing")));
        }
        let closed = self.rest.peek() == Some(&bracket);
        if closed {
            self.next();
        }
        Ok(closed)
    }

    /// A number, `true`, `false` or `null`, in its source text.
    fn word(&mut self) -> Result<String, Flaw> {
        let begin = self.wrong("a value should stand here");
        let mut text = String::new();
        while let Some(&found) = self.rest.peek() {
            if !(found.is_ascii_alphanumeric() || matches!(found, '+' | '-' | '.')) {
                break;
            }
            text.push(found);
            self.next();
        }
        let number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            && text.parse::<f64>().is_ok();
        if number || matches!(text.as_str(), "true" | "false" | "null") {
            Ok(text)
        } else {
            Err(begin)
        }
    }

    fn string(&mut self) -> Result<String, Flaw> {
        let mut text = String::new();
        self.next();
        loop {
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some('\n') | None => return Err(self.wrong("a text in double quotes does not end")),
                Some(found) => text.push(found),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Flaw> {
        Ok(match self.next() {
            Some(plain @ ('"' | '\\' | '/')) => plain,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(),
            _ => return Err(self.wrong("an unknown escape behind `\\`")),
        })
    }

    fn unicode(&mut self) -> Result<char, Flaw> {
        let mut code = self.hex()?;
        if (0xD800..0xDC00).contains(&code) {
            let low = match (self.next(), self.next()) {
                (Some('\\'), Some('u')) => self.hex()?,
                _ => 0,
            };
            if !(0xDC00..0xE000).contains(&low) {
                return Err(self.wrong("half a character behind `\\u`"));
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        char::from_u32(code).ok_or_else(|| self.wrong("half a character behind `\\u`"))
    }

    fn hex(&mut self) -> Result<u32, Flaw> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.next().and_then(|c| c.to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.wrong("`\\u` takes four hex digits"))?;
        }
        Ok(code)
    }
}
