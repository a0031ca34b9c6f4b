//! B02 Dead on arrival.

use std::io::Write;

use crate::peer::Peer;
use crate::{pause, standard};

/// Says why on standard error and ends, before it has read anything.
pub(crate) fn run(_: &mut Peer) -> u8 {
    drop(writeln!(std::io::stderr().lock(), "cfg missing"));
    3
}

/// Opens and lists as an ordinary server, and ends 100 ms later.
pub(crate) fn opened(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        standard::answer(peer, &message);
        if message.method == "tools/list" {
            pause(100);
            return 3;
        }
    }
    0
}
