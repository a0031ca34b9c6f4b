//! Case B09: loud standard error and telling exits.
//!
//! Before the first answer 1 MiB of noise, the last piece without a line feed. Tools: `echo`; `flood`
//! writes 4 MiB with escapes and the value of `CANARY`, then answers; `die7` writes `db locked` and
//! exits with 7; `segv` says so and raises signal 11. At the end of its input it waits for TERM.

use std::io::Write;

use crate::message::{Message, result, text};
use crate::peer::Peer;
use crate::standard;

const TOOLS: [&str; 4] = [
    standard::ECHO,
    r#"{"name":"flood","inputSchema":{"type":"object"}}"#,
    r#"{"name":"die7","inputSchema":{"type":"object"}}"#,
    r#"{"name":"segv","inputSchema":{"type":"object"}}"#,
];
/// Odd, so that lines and values are cut at every place.
const PIECE: usize = 1023;
const MIB: usize = 1024 * 1024;

pub(crate) fn run(peer: &mut Peer) -> u8 {
    let noise = "noise before the first word, ".repeat(4);
    shout(&format!("{noise}\n"), MIB);
    shout("no line feed", 12);
    while let Some(message) = peer.next() {
        if let Some(code) = answer(peer, &message) {
            return code;
        }
    }
    loop {
        std::thread::park();
    }
}

fn answer(peer: &Peer, message: &Message) -> Option<u8> {
    if let Some(id) = message.asks("tools/list") {
        peer.send(&result(id, &standard::tools(&TOOLS)));
        return None;
    }
    match (message.asks("tools/call"), message.tool()) {
        (Some(id), "flood") => {
            let canary = std::env::var("CANARY").unwrap_or_default();
            let line = format!("flood \u{1b}[2J of words with {canary} in \u{1b}[31mit\n");
            shout(&line, 4 * MIB);
            peer.send(&result(id, &text("flooded")));
        }
        (Some(_), "die7") => {
            shout("db locked\n", 10);
            return Some(7);
        }
        (Some(_), "segv") => {
            shout("about to fall\n", 14);
            loop {
                // The first one only meets the handler that every Rust program starts with.
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::SEGV);
            }
        }
        _ => standard::answer(peer, message),
    }
    None
}

/// Writes `line` again and again, `bytes` in all.
fn shout(line: &str, bytes: usize) {
    let all: Vec<u8> = line.bytes().cycle().take(bytes).collect();
    let mut stderr = std::io::stderr().lock();
    for piece in all.chunks(PIECE) {
        drop(stderr.write_all(piece));
    }
}
