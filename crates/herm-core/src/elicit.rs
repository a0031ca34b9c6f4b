//! What a server may ask of a person, and what may go back (I-1 to I-7).
//!
//! A form is flat: text, numbers, yes or no, choices. Anything nested is refused. An answer is
//! checked before it is sent.

mod field;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use url::{Host, Url};

use crate::gate::clean;
use crate::wire::without_lone_surrogates;

pub use field::{Choice, Field, Format, Kind};

/// The most fields that a form may have.
pub const MAX_FIELDS: usize = 128;

/// The params of an `elicitation/create` request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Elicitation {
    /// A form to fill in.
    Form(Form),
    /// A page to visit, never opened without consent (I-4).
    Url {
        /// What the server says it is for; untrusted.
        message: String,
        /// The whole address: `https`, or `http` on this machine.
        url: String,
        /// `elicitationId` (2025-11-25).
        elicitation_id: Option<String>,
    },
}

impl Elicitation {
    /// Reads the params; a missing `mode` is a form (I-1).
    ///
    /// # Errors
    /// Why it cannot be put to a person. Decline, or answer with an error of invalid params.
    pub fn read(params: &RawValue) -> Result<Self, String> {
        let params = object(params)?;
        match params.get("mode") {
            None => Form::from_params(&params).map(Self::Form),
            Some(Value::String(mode)) if mode == "form" => {
                Form::from_params(&params).map(Self::Form)
            }
            Some(Value::String(mode)) if mode == "url" => Ok(Self::Url {
                message: message(&params)?,
                url: address(&params)?,
                elicitation_id: text(&params, "elicitationId"),
            }),
            Some(_) => Err("`mode` is neither `form` nor `url`".to_owned()),
        }
    }
}

/// A form to fill in.
#[derive(Clone, Debug)]
pub struct Form {
    /// What the server says it is for; untrusted.
    pub message: String,
    /// The fields, in the order of the server.
    pub fields: Vec<Field>,
}

impl Form {
    /// Reads the params of a request in form mode.
    ///
    /// # Errors
    /// Why it is no form that can be shown: another mode, no message, nested or unknown fields, or
    /// over [`MAX_FIELDS`] of them.
    pub fn read(params: &RawValue) -> Result<Self, String> {
        match Elicitation::read(params)? {
            Elicitation::Form(form) => Ok(form),
            Elicitation::Url { .. } => Err("the request is for a page, not a form".to_owned()),
        }
    }

    fn from_params(params: &Map<String, Value>) -> Result<Self, String> {
        let message = message(params)?;
        let Some(Value::Object(schema)) = params.get("requestedSchema") else {
            return Err("`requestedSchema` is not an object".to_owned());
        };
        if schema.get("type").is_some_and(|kind| kind != "object") {
            return Err("`requestedSchema` does not describe an object".to_owned());
        }
        let none = Map::new();
        let properties = match schema.get("properties") {
            None => &none,
            Some(Value::Object(properties)) => properties,
            Some(_) => return Err("`properties` is not an object".to_owned()),
        };
        if properties.len() > MAX_FIELDS {
            return Err(format!("the form has {} fields, over {MAX_FIELDS}", properties.len()));
        }
        let required = required(schema, properties)?;
        let fields = properties
            .iter()
            .map(|(name, schema)| Field::read(name, schema, required.contains(&name.as_str())))
            .collect::<Result<_, _>>()?;
        Ok(Self { message, fields })
    }

    /// The content with every default filled in, as JSON. Fields without one are left out.
    ///
    /// # Errors
    /// A required field has no default, or a default breaks the rules of its own field.
    pub fn defaults(&self) -> Result<String, String> {
        let filled = self.fields.iter().filter_map(|field| {
            field.default.as_ref().map(|default| (field.name.clone(), default.clone()))
        });
        self.content(&filled.collect())
    }

    /// Checks a whole answer and gives it as the JSON of `content`.
    ///
    /// # Errors
    /// A required field is missing, a field is not of this form, or a value breaks its rules.
    pub fn content(&self, answer: &Map<String, Value>) -> Result<String, String> {
        if let Some(unknown) = answer.keys().find(|key| self.field(key).is_none()) {
            return Err(format!("the form has no field `{}`", shown(unknown)));
        }
        for field in &self.fields {
            match answer.get(&field.name) {
                Some(value) => {
                    field
                        .check(value)
                        .map_err(|why| format!("field `{}`: {why}", shown(&field.name)))?;
                }
                None if field.required => {
                    return Err(format!(
                        "field `{}` is required and has no value",
                        shown(&field.name)
                    ));
                }
                None => {}
            }
        }
        serde_json::to_string(answer).map_err(|error| error.to_string())
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// True if a field looks like it wants a secret, which a form must not ask for (I-7): warn.
    #[must_use]
    pub fn asks_for_secrets(&self) -> bool {
        self.fields.iter().any(|field| field.secret)
    }
}

/// The result that accepts: `content` is a JSON object for a form, absent for a page.
#[must_use]
pub fn accept(content: Option<&str>) -> String {
    match content {
        Some(content) => format!(r#"{{"action":"accept","content":{content}}}"#),
        None => r#"{"action":"accept"}"#.to_owned(),
    }
}

/// The result that says no.
#[must_use]
pub fn decline() -> String {
    r#"{"action":"decline"}"#.to_owned()
}

/// The result when nobody decided.
#[must_use]
pub fn cancel() -> String {
    r#"{"action":"cancel"}"#.to_owned()
}

fn object(params: &RawValue) -> Result<Map<String, Value>, String> {
    serde_json::from_str(params.get())
        .or_else(|_| serde_json::from_str(&without_lone_surrogates(params.get())))
        .map_err(|error| format!("unreadable params: {error}"))
}

/// A server's words in a message of ours: clean, one line, bounded.
fn shown(text: &str) -> String {
    clean::line(text, 64)
}

fn message(params: &Map<String, Value>) -> Result<String, String> {
    text(params, "message").ok_or_else(|| "`message` is not a text".to_owned())
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The address of a page: `https`, or `http` to this machine (I-4).
fn address(params: &Map<String, Value>) -> Result<String, String> {
    let written = text(params, "url").ok_or("`url` is not a text")?;
    let url = Url::parse(&written).map_err(|error| format!("`url` is no URL: {error}"))?;
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(written),
        "http" if local => Ok(written),
        "http" => Err("`url` is `http` and leaves this machine, only `https` may".to_owned()),
        _ => Err("`url` is neither `https` nor `http`".to_owned()),
    }
}

fn required<'a>(
    schema: &'a Map<String, Value>,
    properties: &Map<String, Value>,
) -> Result<Vec<&'a str>, String> {
    let names = match schema.get("required") {
        None => return Ok(Vec::new()),
        Some(Value::Array(names)) => names,
        Some(_) => return Err("`required` is not a list of names".to_owned()),
    };
    names
        .iter()
        .map(|name| match name.as_str() {
            Some(name) if properties.contains_key(name) => Ok(name),
            Some(name) => Err(format!("`required` names `{}`, which is no field", shown(name))),
            None => Err("`required` is not a list of names".to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests;
