//! One message from the client, with its id as the exact token that the client wrote.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// The raw token, quotes included; none in a notification.
    pub(crate) id: Option<String>,
    /// Empty in a response.
    pub(crate) method: String,
    /// Null when absent.
    pub(crate) params: Value,
    /// The raw text of `params`.
    pub(crate) raw_params: String,
    /// The whole message.
    pub(crate) value: Value,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl Message {
    /// None for what is no JSON object; the client under test never writes that.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
        let raw_params = envelope.params.map(|raw| raw.get().to_owned()).unwrap_or_default();
        Some(Self {
            id: envelope.id.map(|raw| raw.get().to_owned()),
            method: envelope.method.unwrap_or_default(),
            params: serde_json::from_str(&raw_params).unwrap_or_default(),
            raw_params,
            value: serde_json::from_slice(line).ok()?,
        })
    }

    /// The id token when this is a request for `method`.
    pub(crate) fn asks(&self, method: &str) -> Option<&str> {
        if self.method == method { self.id.as_deref() } else { None }
    }

    pub(crate) fn is_response(&self) -> bool {
        self.method.is_empty() && self.id.is_some()
    }

    /// `params.name`: the tool of a call.
    pub(crate) fn tool(&self) -> &str {
        self.params["name"].as_str().unwrap_or_default()
    }

    /// `params.arguments.NAME` as text.
    pub(crate) fn argument(&self, name: &str) -> &str {
        self.params["arguments"][name].as_str().unwrap_or_default()
    }
}

pub(crate) fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub(crate) fn error(id: &str, code: i32, message: &str) -> String {
    let message = Value::from(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// A call's result: one text block.
pub(crate) fn text(text: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, Value::from(text))
}
