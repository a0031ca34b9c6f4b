//! A server with resources and prompts, and a tool that is named nearly like one of the host's own.
//!
//! The resource `a:1` is read after a word of progress, `a:never` is never read, `a:odd` is answered
//! without contents; any other is unknown. The prompt `p` tells its arguments.

use serde_json::json;

use crate::message::{Message, error, result};
use crate::peer::Peer;
use crate::standard;

const CAPABILITIES: &str = r#""capabilities":{"tools":{},"resources":{},"prompts":{}}"#;
const NATIVE: &str = r#"{"name":"List-Prompts","inputSchema":{"type":"object"}}"#;

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        let Some(id) = message.id.clone() else { continue };
        match message.method.as_str() {
            "initialize" => {
                let plain = r#""capabilities":{"tools":{"listChanged":true}}"#;
                peer.send(&standard::initialize(&id, &message).replace(plain, CAPABILITIES));
            }
            "tools/list" => peer.send(&result(&id, &standard::tools(&[standard::ECHO, NATIVE]))),
            "resources/list" => peer.send(&result(
                &id,
                r#"{"resources":[{"uri":"a:1","name":"one","size":1.0,"x-later":[ 1e400 ]}]}"#,
            )),
            "resources/templates/list" => peer.send(&result(
                &id,
                r#"{"resourceTemplates":[{"uriTemplate":"a:{n}","name":"any"}]}"#,
            )),
            "prompts/list" => peer.send(&result(&id, r#"{"prompts":[{"name":"p"}]}"#)),
            "resources/read" => read(peer, &id, &message),
            "prompts/get" => peer.send(&result(&id, &prompt(&message))),
            _ => standard::answer(peer, &message),
        }
    }
    0
}

fn read(peer: &Peer, id: &str, message: &Message) {
    match message.params["uri"].as_str().unwrap_or_default() {
        "a:1" => {
            let token = &message.params["_meta"]["progressToken"];
            peer.send(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            ));
            peer.send(&result(
                id,
                r#"{"contents":[{"uri":"a:1","text":"one","n":1.0},{"uri":"a:1","blob":"aGk="}],"_meta":{"x/y":1}}"#,
            ));
        }
        "a:never" => {}
        "a:odd" => peer.send(&result(id, r#"{"contents":{}}"#)),
        _ => peer.send(&error(id, -32002, "Resource not found")),
    }
}

fn prompt(message: &Message) -> String {
    let said = message.params["arguments"].to_string();
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}).to_string()
}
