//! Case B01: a tree that will not die. All parts ignore TERM, HUP and INT (see `signals`), and the
//! end of their input.
//!
//! `b01` serves `echo`, and `silent` that never answers; `b01-mute` answers nothing at all;
//! `b01-leaf` only holds its standard output; `b01-away` does so in a session of its own.

use crate::message::{Message, result};
use crate::peer::Peer;
use crate::standard;

const SILENT: &str = r#"{"name":"silent","inputSchema":{"type":"object"}}"#;

pub(crate) fn run(peer: &mut Peer) -> u8 {
    while let Some(message) = peer.next() {
        answer(peer, &message);
    }
    stay()
}

fn answer(peer: &Peer, message: &Message) {
    match message.asks("tools/list") {
        Some(id) => peer.send(&result(id, &standard::tools(&[standard::ECHO, SILENT]))),
        None if message.tool() == "silent" => {}
        None => standard::answer(peer, message),
    }
}

pub(crate) fn stay_mute(_peer: &mut Peer) -> u8 {
    stay()
}

/// The leaves, which share the server's input and must not read it. Returns for any other script.
pub(crate) fn grow(script: &str) {
    match script {
        "b01-leaf" => stay(),
        "b01-away" => {
            // Fails for the leader of a group, which is as far away already.
            let _ = rustix::process::setsid();
            stay()
        }
        _ => {}
    }
}

fn stay() -> ! {
    loop {
        std::thread::park();
    }
}
