//! B15 Names: raw names that fit nowhere as they are. A call answers with the raw name it was for.

use crate::message::{result, text};
use crate::peer::Peer;
use crate::standard;

const NAMES: [&str; 10] =
    ["a.b", "a/b", "a b", "a-b", "a_b", "Get", "get", "grins \u{1f600}", "7up", LONG];
const LONG: &str = "a-name-of-sixty-characters-which-is-more-than-fits-behind-it";

pub(crate) fn run(peer: &mut Peer) -> u8 {
    serve(peer, &NAMES)
}

/// The same tools in another order.
pub(crate) fn shuffled(peer: &mut Peer) -> u8 {
    let mut names = NAMES.to_vec();
    names.reverse();
    names.swap(1, 6);
    serve(peer, &names)
}

fn serve(peer: &mut Peer, names: &[&str]) -> u8 {
    let tools: Vec<String> = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("tools/list") {
            peer.send(&result(id, &standard::tools(&tools)));
        } else if let Some(id) = message.asks("tools/call") {
            peer.send(&result(id, &text(message.tool())));
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}
