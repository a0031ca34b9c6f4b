//! B03 Eight first calls at once: `initialize` is answered after 2 s, the rest at once.

use crate::peer::Peer;
use crate::{pause, standard};

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        if message.method == "initialize" {
            pause(2000);
        }
        standard::answer(peer, &message);
    }
    0
}
