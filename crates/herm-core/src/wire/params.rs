//! Dressing a request: its `params`, with the `_meta` that its era asks for (R-1).

use serde_json::value::RawValue;

use super::compact;
use super::json::{members, quote};
use crate::config::Revision;

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const PROGRESS_TOKEN: &str = "progressToken";

/// What every request of one call carries.
#[derive(Clone, Copy, Debug)]
pub struct Dress<'a> {
    /// The revision in use; 2026-07-28 adds the `io.modelcontextprotocol/` keys.
    pub revision: Revision,
    /// `clientCapabilities` of this call, a JSON object.
    pub capabilities: &'a str,
    /// Our progress token, if progress is wanted.
    pub progress_token: Option<u64>,
    /// `_meta` of the caller, a JSON object; keys of ours win over reserved ones in it. Those four
    /// are left out of it even when we send none: they were true of the caller's hop only.
    pub meta: Option<&'a RawValue>,
}

/// Builds one `params` object, member by member; `_meta` comes last.
#[derive(Clone, Debug)]
pub struct Params(String);

impl Params {
    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a text member.
    #[must_use]
    pub fn text(self, key: &str, value: &str) -> Self {
        self.member(key, &quote(value))
    }

    /// Adds a member that is JSON already; compacted.
    #[must_use]
    pub fn raw(self, key: &str, json: &str) -> Self {
        self.member(key, &compact(json))
    }

    /// Adds `_meta` (nothing at all if it would be empty) and closes the object.
    #[must_use]
    pub fn dressed(self, dress: &Dress<'_>) -> String {
        let mut meta = Self::new();
        if let Some(token) = dress.progress_token {
            meta = meta.raw(PROGRESS_TOKEN, &token.to_string());
        }
        if !dress.revision.is_handshake() {
            meta = meta
                .text(PROTOCOL_VERSION, dress.revision.as_str())
                .raw(CLIENT_CAPABILITIES, dress.capabilities)
                .raw(CLIENT_INFO, &client_info());
        }
        let mut foreign = Vec::new();
        members(dress.meta.map_or("", RawValue::get), &mut |key, value| {
            let ours = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, PROGRESS_TOKEN];
            if !ours.contains(&&*key) {
                foreign.push((key, value));
            }
        });
        for (key, value) in foreign {
            meta = meta.raw(&key, value.get());
        }
        if meta.is_empty() { self.bare() } else { self.member("_meta", &meta.bare()).bare() }
    }

    /// Closes the object without `_meta`.
    #[must_use]
    pub fn bare(self) -> String {
        self.0 + "}"
    }

    fn member(mut self, key: &str, json: &str) -> Self {
        if !self.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&quote(key));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    fn is_empty(&self) -> bool {
        self.0.len() == 1
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::new()
    }
}

/// `clientInfo`, a JSON object: name `herm` and our version.
#[must_use]
pub fn client_info() -> String {
    Params::new().text("name", "herm").text("version", env!("CARGO_PKG_VERSION")).bare()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dress(revision: Revision, meta: Option<&RawValue>) -> Dress<'_> {
        Dress { revision, capabilities: "{ }", progress_token: Some(9), meta }
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_handshake_era_gets_only_the_token_and_what_the_caller_said() {
        let meta = raw(r#"{"z":{ "k" : 1e400 },"progressToken":"theirs","traceparent":"00-a",
            "io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#);
        let dress = dress(Revision::V2025_11_25, Some(&meta));
        assert_eq!(
            Params::new().text("name", "a\"b").raw("arguments", "{ \"x\": 1 }").dressed(&dress),
            r#"{"name":"a\"b","arguments":{"x":1},"_meta":{"progressToken":9,"z":{"k":1e400},"traceparent":"00-a"}}"#
        );
        let silent = Dress { progress_token: None, meta: None, ..dress };
        assert_eq!(Params::new().dressed(&silent), "{}");
        let odd = raw("[1]");
        let odd = Dress { meta: Some(&odd), ..silent };
        assert_eq!(Params::new().text("a", "b").dressed(&odd), r#"{"a":"b"}"#);
    }

    #[test]
    fn keys_of_ours_win_even_over_one_that_is_spelled_with_escapes() {
        let meta = raw(
            r#"{"io.modelcontextprotocol\/clientInfo":1,"progress\u0054oken":2,"io.modelcontextprotocol/logLevel":"info"}"#,
        );
        let dressed = Params::new().dressed(&dress(Revision::V2026_07_28, Some(&meta)));
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            dressed,
            format!(
                concat!(
                    r#"{{"_meta":{{"progressToken":9,"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                    r#""io.modelcontextprotocol/clientCapabilities":{{}},"#,
                    r#""io.modelcontextprotocol/clientInfo":{{"name":"herm","version":"{}"}},"#,
                    r#""io.modelcontextprotocol/logLevel":"info"}}}}"#
                ),
                version
            )
        );
    }
}
