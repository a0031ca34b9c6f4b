//! B06 Handshake, then a black hole. The first process exits after its first call, the second never
//! answers `tools/list`, the third is an ordinary server.

use crate::peer::Peer;
use crate::standard;

pub(crate) fn run(peer: &mut Peer) -> u8 {
    let generation = peer.generation();
    while let Some(message) = peer.next() {
        if generation == 2 && message.method == "tools/list" {
            continue;
        }
        standard::answer(peer, &message);
        if generation == 1 && message.method == "tools/call" {
            return 0;
        }
    }
    0
}
