//! Reading raw JSON one level at a time, without ever losing or refusing what lies below.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::without_lone_surrogates;

/// Decodes a JSON string token; lone surrogates become U+FFFD. `None` if the token is no string.
pub(crate) fn text(token: &str) -> Option<Cow<'_, str>> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let decoded = serde_json::from_str::<String>(token)
        .or_else(|_| serde_json::from_str(&without_lone_surrogates(token)));
    decoded.ok().map(Cow::Owned)
}

/// A member value that is a string, decoded.
pub(crate) fn owned_text(value: &RawValue) -> Option<String> {
    text(value.get()).map(Cow::into_owned)
}

/// A member value that is `true` or `false`.
pub(crate) fn boolean(value: &RawValue) -> Option<bool> {
    match value.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// A number without a fraction within the range of `i64`, in any spelling (`5`, `5.0`, `5e0`).
pub(crate) fn integer(token: &str) -> Option<i64> {
    /// 2^53: above it not every integer is a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    token.parse().ok().or_else(|| {
        let float: f64 = token
            .starts_with(|c: char| c == '-' || c.is_ascii_digit())
            .then(|| token.parse().ok())??;
        #[expect(clippy::cast_possible_truncation, reason = "integral and within 2^53")]
        (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
    })
}

pub(crate) fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

pub(crate) fn is_array(value: &RawValue) -> bool {
    value.get().starts_with('[')
}

pub(crate) fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// A string as a JSON token.
pub(crate) fn quote(text: &str) -> String {
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        return ["\"", text, "\""].concat();
    }
    serde_json::Value::from(text).to_string()
}

/// Hands over each member of a JSON object in order, its key decoded. False if it is no object.
pub(crate) fn members<'a>(json: &'a str, each: &mut dyn FnMut(Cow<'a, str>, &'a RawValue)) -> bool {
    let mut found = |key: Cow<'a, str>, member: Member<'a>| {
        if let Member::Value(value) = member {
            each(key, value);
        }
    };
    walk(json, Walk { list: None, each: &mut found })
}

/// The same in one pass, with the elements of the member `list` apart. False also if that is there
/// and no array: what was found before says nothing then.
pub(crate) fn members_and_list<'a>(
    json: &'a str,
    list: &str,
    each: &mut dyn FnMut(Cow<'a, str>, Member<'a>),
) -> bool {
    walk(json, Walk { list: Some(list), each })
}

fn walk<'a>(json: &'a str, walk: Walk<'_, 'a>) -> bool {
    json.starts_with('{') && walk.deserialize(&mut serde_json::Deserializer::from_str(json)).is_ok()
}

/// A member of an object.
pub(crate) enum Member<'a> {
    /// Its value as written.
    Value(&'a RawValue),
    /// Its elements, of the list that was asked for.
    List(Vec<&'a RawValue>),
}

/// The value of a member; of a repeated key the last. `None` if absent or null.
pub(crate) fn member<'a>(json: &'a str, key: &str) -> Option<&'a RawValue> {
    let mut found = None;
    members(json, &mut |k, value| {
        if k == key {
            found = Some(value);
        }
    });
    found.filter(|value| !is_null(value))
}

/// The elements of a JSON array; `None` if it is none.
pub(crate) fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    is_array(value).then(|| serde_json::from_str(value.get()).ok())?
}

struct Walk<'f, 'de> {
    list: Option<&'f str>,
    each: &'f mut dyn FnMut(Cow<'de, str>, Member<'de>),
}

impl<'de> DeserializeSeed<'de> for Walk<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        // Keys as raw tokens: one with a lone surrogate must not cost the object.
        while let Some(key) = map.next_key::<&RawValue>()? {
            let key = text(key.get()).ok_or_else(|| M::Error::custom("a key that is no text"))?;
            let member = match self.list {
                Some(list) if list == key => Member::List(map.next_value()?),
                _ => Member::Value(map.next_value()?),
            };
            (self.each)(key, member);
        }
        Ok(())
    }
}
