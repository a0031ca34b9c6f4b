//! What is answered to which request. Pure.

use herm_core::config::Revision;
use herm_core::wire::{Raw, codes};
use serde_json::json;
use serde_json::value::RawValue;

use crate::object::Object;

/// How far the handshake has come.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    /// Nothing was said.
    #[default]
    New,
    /// `initialize` was answered.
    Opened,
    /// The client said `notifications/initialized`.
    Ready,
}

/// The conversation with one client.
#[derive(Debug, Default)]
pub(super) struct Session {
    stage: Stage,
}

/// What to answer.
#[derive(Debug)]
pub(super) enum Answer {
    /// A result, a JSON object.
    Result(String),
    /// An error: code and message.
    Error(i64, String),
    /// The list of tools.
    Tools,
    /// Whatever the tool says.
    Call(Called),
}

/// A `tools/call`, read.
#[derive(Debug)]
pub(super) struct Called {
    /// The exposed name.
    pub(super) name: String,
    /// As written.
    pub(super) arguments: Option<Raw>,
    /// `_meta` as written.
    pub(super) meta: Option<Raw>,
    /// `_meta.progressToken` as written, if it is a text or a number.
    pub(super) token: Option<Raw>,
}

impl Session {
    /// Whether the client is ready to be told things.
    pub(super) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// The client said `notifications/initialized`.
    pub(super) fn initialized(&mut self) {
        if self.stage == Stage::Opened {
            self.stage = Stage::Ready;
        }
    }

    pub(super) fn answer(
        &mut self,
        id: &Raw,
        method: &str,
        params: Option<&RawValue>,
        safe_mode: bool,
    ) -> Answer {
        if !is_id(id.get()) {
            let why = "an id is a text or a number".to_owned();
            return Answer::Error(codes::INVALID_REQUEST, why);
        }
        let params = params.map_or("{}", RawValue::get);
        let Some(params) = Object::read(params) else {
            return Answer::Error(codes::INVALID_PARAMS, "`params` is no object".to_owned());
        };
        match method {
            "initialize" => self.initialize(&params, safe_mode),
            "ping" => Answer::Result("{}".to_owned()),
            "tools/list" | "tools/call" if self.stage == Stage::New => {
                let why = "`initialize` comes first".to_owned();
                Answer::Error(codes::INVALID_REQUEST, why)
            }
            // The list is one page, so no cursor is one of ours.
            "tools/list" if params.get("cursor").is_some() => {
                Answer::Error(codes::INVALID_PARAMS, "no such cursor".to_owned())
            }
            "tools/list" => Answer::Tools,
            "tools/call" => call(&params),
            _ => Answer::Error(codes::METHOD_NOT_FOUND, format!("no method `{}`", short(method))),
        }
    }

    /// The client's revision if we speak it, else our newest.
    fn initialize(&mut self, params: &Object<'_>, safe_mode: bool) -> Answer {
        let Some(wanted) = params.text("protocolVersion") else {
            let why = "`initialize` needs a `protocolVersion` text".to_owned();
            return Answer::Error(codes::INVALID_PARAMS, why);
        };
        let revision = wanted
            .parse()
            .ok()
            .filter(|revision: &Revision| revision.is_handshake())
            .unwrap_or(Revision::NEWEST_HANDSHAKE);
        if self.stage == Stage::New {
            self.stage = Stage::Opened;
        }
        let result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "herm", "title": "herm", "version": env!("CARGO_PKG_VERSION")},
            "instructions": if safe_mode { SAFE_MODE } else { INSTRUCTIONS },
        });
        Answer::Result(result.to_string())
    }
}

const INSTRUCTIONS: &str = "The tools of several MCP servers, each named mcp__SERVER__TOOL. Servers \
    may still be starting: the list of tools changes when one becomes ready. When a call is refused, \
    the result says whether and when to retry.";
const SAFE_MODE: &str = "herm is in safe mode: no MCP server is started or contacted, so there are \
    no tools. The user can end it: unset HERM_SAFE_MODE and HERMES_SAFE_MODE, leave out --safe-mode, \
    and start herm again.";

fn call(params: &Object<'_>) -> Answer {
    let Some(name) = params.text("name") else {
        return Answer::Error(codes::INVALID_PARAMS, "`tools/call` needs a `name`".to_owned());
    };
    let meta = params.get("_meta").filter(|meta| meta.get().starts_with('{'));
    let token = meta.and_then(|meta| Object::read(meta.get())?.get("progressToken"));
    Answer::Call(Called {
        name,
        arguments: params.get("arguments").map(ToOwned::to_owned),
        meta: meta.map(ToOwned::to_owned),
        token: token.filter(|token| is_id(token.get())).map(ToOwned::to_owned),
    })
}

/// A text or a number.
fn is_id(token: &str) -> bool {
    token.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}

/// Enough of a client's text to know it again.
pub(super) fn short(text: &str) -> String {
    text.chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::{Answer, Session};
    use serde_json::value::RawValue;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn answer(session: &mut Session, method: &str, params: &str) -> String {
        match session.answer(&raw("1"), method, Some(&raw(params)), false) {
            Answer::Result(result) => result,
            Answer::Error(code, message) => format!("{code} {message}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_revision_of_the_client_is_taken_if_we_speak_it() {
        for (wanted, spoken) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1.0", "2025-11-25"),
        ] {
            let params = format!(r#"{{"protocolVersion":"{wanted}","capabilities":{{}}}}"#);
            let result = answer(&mut Session::default(), "initialize", &params);
            let result: serde_json::Value = serde_json::from_str(&result).unwrap();
            assert_eq!(result["protocolVersion"], spoken, "{wanted}");
        }
    }

    #[test]
    fn what_is_not_offered_is_no_method() {
        let mut session = Session::default();
        assert_eq!(answer(&mut session, "tools/list", "{}"), "-32600 `initialize` comes first");
        assert_eq!(answer(&mut session, "ping", "{}"), "{}");
        let refused = answer(&mut session, "initialize", "{}");
        assert_eq!(refused, "-32602 `initialize` needs a `protocolVersion` text");
        answer(&mut session, "initialize", r#"{"protocolVersion":"2025-06-18"}"#);
        for method in [
            "server/discover",
            "resources/list",
            "prompts/get",
            "logging/setLevel",
            "completion/complete",
        ] {
            let expected = format!("-32601 no method `{method}`");
            assert_eq!(answer(&mut session, method, "{}"), expected);
        }
        assert_eq!(answer(&mut session, "tools/list", r#"{"cursor":""}"#), "-32602 no such cursor");
        assert_eq!(answer(&mut session, "tools/list", r#"{"cursor":null}"#), "Tools");
        assert_eq!(answer(&mut session, "tools/call", "[]"), "-32602 `params` is no object");
        assert_eq!(answer(&mut session, "tools/call", "{}"), "-32602 `tools/call` needs a `name`");
    }
}
