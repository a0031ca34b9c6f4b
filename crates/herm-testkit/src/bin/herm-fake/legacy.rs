//! Servers that know the handshake only.

use crate::message::{Message, error};
use crate::peer::Peer;
use crate::standard;

/// Refuses everything before `initialize`.
pub(crate) fn run(peer: &mut Peer) -> u8 {
    let mut open = false;
    while let Some(message) = peer.next() {
        open |= message.method == "initialize";
        match &message.id {
            Some(id) if !open => peer.send(&error(id, -32600, "Server not initialized")),
            _ => standard::answer(peer, &message),
        }
    }
    0
}

/// Exits on the first message when that is not `initialize`, as some old servers do.
pub(crate) fn run_that_exits_on_the_probe(peer: &mut Peer) -> u8 {
    match peer.next() {
        Some(Message { method, .. }) if method != "initialize" => 1,
        Some(first) => {
            standard::answer(peer, &first);
            standard::run(peer)
        }
        None => 0,
    }
}
