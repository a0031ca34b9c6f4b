//! A JSON text that is known to be valid, as a tree for judging: borrowed, bounded in depth, keys
//! sorted for look-up. It never fails on what `serde_json` refuses to hold (lone surrogates, 1e400).

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// A value. Numbers are not told apart: nothing here depends on them.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Number,
    Text(Cow<'a, str>),
    Array(Vec<Self>),
    Object(Object<'a>),
}

/// Members sorted by key; of a repeated key the last one counts.
#[derive(Debug)]
pub(super) struct Object<'a> {
    /// Counts objects from 0, innermost first: an index for notes about them.
    pub(super) id: usize,
    members: Vec<(Cow<'a, str>, Node<'a>)>,
}

/// Why there is no tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unread {
    /// Arrays and objects nested too deep.
    Deep,
    /// No JSON.
    Broken,
}

impl<'a> Node<'a> {
    /// What kind of value it is, for a message.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number => "a number",
            Self::Text(_) => "a text",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The object, if it is one.
    pub(super) fn object(&self) -> Option<&Object<'a>> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }
}

impl<'a> Object<'a> {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node<'a>> {
        let at = self.members.binary_search_by(|(name, _)| name.as_ref().cmp(key)).ok()?;
        self.members.get(at).map(|(_, value)| value)
    }

    /// All members, by key.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Node<'a>)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// True without members.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// Reads `json`, nested at most `max_depth` deep; also says how many objects it has.
pub(super) fn read(json: &str, max_depth: usize) -> Result<(Node<'_>, usize), Unread> {
    let mut reader = Reader { json, at: 0, objects: 0 };
    let node = reader.value(max_depth)?;
    Ok((node, reader.objects))
}

/// The members of the object `json`, in order, each with the place of its value; `None` if it is
/// no object.
pub(super) fn spans(json: &str) -> Option<Vec<(Cow<'_, str>, Range<usize>)>> {
    let mut reader = Reader { json, at: 0, objects: 0 };
    let mut found = Vec::new();
    reader.expect(b'{').ok()?;
    if reader.peek() == Some(b'}') {
        return Some(found);
    }
    loop {
        let key = reader.key().ok()?;
        reader.peek()?;
        let start = reader.at;
        reader.skip().ok()?;
        found.push((key, start..reader.at));
        if !reader.another(b'}').ok()? {
            return Some(found);
        }
    }
}

struct Reader<'a> {
    json: &'a str,
    at: usize,
    objects: usize,
}

impl<'a> Reader<'a> {
    /// The next byte that is no blank, not taken.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.json.as_bytes().get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Unread> {
        if self.peek() != Some(byte) {
            return Err(Unread::Broken);
        }
        self.at += 1;
        Ok(())
    }

    /// After an element: true at a comma, false at `close`; takes either.
    fn another(&mut self, close: u8) -> Result<bool, Unread> {
        let byte = self.peek();
        self.at += 1;
        match byte {
            Some(b',') => Ok(true),
            Some(byte) if byte == close => Ok(false),
            _ => Err(Unread::Broken),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, Unread> {
        match self.peek().ok_or(Unread::Broken)? {
            b'{' => self.object(depth.checked_sub(1).ok_or(Unread::Deep)?),
            b'[' => self.array(depth.checked_sub(1).ok_or(Unread::Deep)?),
            b'"' => self.token().map(|token| Node::Text(decoded(token))),
            first => {
                self.skip()?;
                Ok(match first {
                    b'n' => Node::Null,
                    b't' => Node::Bool(true),
                    b'f' => Node::Bool(false),
                    _ => Node::Number,
                })
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Node<'a>, Unread> {
        self.expect(b'[')?;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Node::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if !self.another(b']')? {
                return Ok(Node::Array(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node<'a>, Unread> {
        self.expect(b'{')?;
        let mut members = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                members.push((self.key()?, self.value(depth)?));
                if !self.another(b'}')? {
                    break;
                }
            }
        }
        // Reversed and then sorted without changing the order of equals: the last one comes first,
        // and is the one that stays.
        members.reverse();
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        members.dedup_by(|(later, _), (first, _)| later == first);
        let id = self.objects;
        self.objects += 1;
        Ok(Node::Object(Object { id, members }))
    }

    fn key(&mut self) -> Result<Cow<'a, str>, Unread> {
        self.peek();
        let token = self.token()?;
        self.expect(b':')?;
        Ok(decoded(token))
    }

    /// A string with its quotes, as written.
    fn token(&mut self) -> Result<&'a str, Unread> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            let rest = self.json.as_bytes().get(self.at..).ok_or(Unread::Broken)?;
            let found = memchr2(b'"', b'\\', rest).ok_or(Unread::Broken)?;
            if rest.get(found) == Some(&b'"') {
                self.at += found + 1;
                return self.json.get(start..self.at).ok_or(Unread::Broken);
            }
            self.at += found + 2;
        }
    }

    /// Goes past one value, however deep.
    fn skip(&mut self) -> Result<(), Unread> {
        let mut depth = 0_usize;
        loop {
            match self.peek().ok_or(Unread::Broken)? {
                b'"' => {
                    self.token()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1).ok_or(Unread::Broken)?;
                    self.at += 1;
                }
                b',' | b':' => {
                    self.at += 1;
                    continue;
                }
                _ => self.word(),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Goes past a number, `true`, `false` or `null`.
    fn word(&mut self) {
        let rest = self.json.as_bytes().get(self.at..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b',' | b':' | b'}' | b']' | b'"') || *byte <= b' ';
        self.at += rest.iter().position(ends).unwrap_or(rest.len()).max(1);
    }
}

/// The text of a string token. One that no text can hold (half a surrogate pair) stays as written.
fn decoded(token: &str) -> Cow<'_, str> {
    let inner = token.get(1..token.len() - 1).unwrap_or_default();
    if inner.contains('\\')
        && let Ok(text) = serde_json::from_str::<String>(token)
    {
        return Cow::Owned(text);
    }
    Cow::Borrowed(inner)
}
