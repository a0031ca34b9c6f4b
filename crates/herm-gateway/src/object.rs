//! One level of a JSON object, its tokens as they were written.

use std::fmt;

use herm_core::wire::without_lone_surrogates;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in order; repeated keys stay.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(&'a str, Member<'a>)>);

#[derive(Debug)]
enum Member<'a> {
    Written(&'a RawValue),
    Ours(String),
}

impl<'a> Object<'a> {
    /// `None` if it is no object.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The value of a member; of a repeated key the last. `None` if absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(token, _)| names(token, key))?;
        match found.1 {
            Member::Written(value) if value.get() != "null" => Some(value),
            _ => None, // null, or ours, which nobody needs to read back
        }
    }

    /// A member that is a text; of one that is no Unicode the lone surrogates are replaced.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let token = self.get(key)?.get();
        serde_json::from_str(token)
            .or_else(|_| serde_json::from_str(&without_lone_surrogates(token)))
            .ok()
    }

    /// Replaces a member where it stands, wherever it stands; adds it at the end where it is not.
    pub(crate) fn set(&mut self, key: &'a str, json: &str) {
        let mut found = false;
        for (token, member) in &mut self.0 {
            if names(token, key) {
                *member = Member::Ours(json.to_owned());
                found = true;
            }
        }
        if !found {
            self.0.push((key, Member::Ours(json.to_owned())));
        }
    }

    /// Takes a member out.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|(token, _)| !names(token, key));
    }

    pub(crate) fn to_json(&self) -> String {
        let mut json = "{".to_owned();
        for (at, (key, member)) in self.0.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            if key.starts_with('"') {
                json.push_str(key);
            } else {
                json.push_str(&quote(key));
            }
            json.push(':');
            json.push_str(match member {
                Member::Written(value) => value.get(),
                Member::Ours(value) => value,
            });
        }
        json.push('}');
        json
    }
}

/// A string as a JSON token.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a key, a token as written or one of ours, is this one.
fn names(token: &str, key: &str) -> bool {
    match token.strip_prefix('"').and_then(|token| token.strip_suffix('"')) {
        Some(inner) if !inner.contains('\\') => inner == key,
        Some(_) => serde_json::from_str::<String>(token).is_ok_and(|text| text == key),
        None => token == key,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor).map(Object)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Vec<(&'de str, Member<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::with_capacity(map.size_hint().unwrap_or_default());
        // Keys as raw tokens: one with a lone surrogate must not cost the object.
        while let Some(key) = map.next_key::<&RawValue>()? {
            members.push((key.get(), Member::Written(map.next_value()?)));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::Object;

    #[test]
    fn what_is_not_replaced_keeps_its_bytes() {
        let json = r#"{"b":1.50,"n\u0061me":"x","a":{ "z":1e400 },"\ud83d":[ ]}"#;
        let mut object = Object::read(json).unwrap();
        assert_eq!(object.to_json(), json);
        assert_eq!(object.text("name").as_deref(), Some("x"));
        object.set("name", r#""y""#);
        object.set("_meta", "{}");
        object.remove("b");
        let expected = r#"{"n\u0061me":"y","a":{ "z":1e400 },"\ud83d":[ ],"_meta":{}}"#;
        assert_eq!(object.to_json(), expected);
        assert!(Object::read("[1]").is_none());
    }
}
