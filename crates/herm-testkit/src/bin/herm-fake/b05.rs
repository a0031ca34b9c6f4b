//! B05 The server that will not say pong. From the second time on `tools/list` takes `list` ms, 3000
//! unless set; nothing waits for it.

use std::collections::VecDeque;

use crate::message::{error, result};
use crate::peer::{Peer, Turn};
use crate::standard;

const TICK_MS: u64 = 20;

/// (a) Reads `ping` and never answers.
pub(crate) fn ping_unanswered(peer: &mut Peer) -> u8 {
    serve(peer, |_| None)
}

/// (b) Does not know the method.
pub(crate) fn ping_unknown(peer: &mut Peer) -> u8 {
    serve(peer, |id| Some(error(id, -32601, "Method not found")))
}

/// (c) Refuses it, for a reason that helps nobody.
pub(crate) fn ping_refused(peer: &mut Peer) -> u8 {
    serve(peer, |id| Some(error(id, -32600, "something went wrong")))
}

/// (d) An odd result.
pub(crate) fn ping_null(peer: &mut Peer) -> u8 {
    serve(peer, |id| Some(result(id, "null")))
}

/// (e) Answers nothing any more once it has answered a call; standard input is read all the same.
pub(crate) fn silent_from_the_first_call(peer: &mut Peer) -> u8 {
    let mut silent = false;
    while let Some(message) = peer.next() {
        if !silent {
            standard::answer(peer, &message);
            silent = message.method == "tools/call";
        }
    }
    0
}

fn serve(peer: &mut Peer, pong: impl Fn(&str) -> Option<String>) -> u8 {
    let ticks = peer.choice("list", "3000").parse().unwrap_or(3000) / TICK_MS;
    let mut lists = 0;
    // Replies to lists, each with the ticks that are left.
    let mut slow: VecDeque<(u64, String)> = VecDeque::new();
    loop {
        match peer.turn(TICK_MS) {
            Turn::Message(message) => {
                let Some(reply) = standard::reply(&message) else { continue };
                if let Some(id) = message.asks("ping") {
                    if let Some(pong) = pong(id) {
                        peer.send(&pong);
                    }
                } else if message.method == "tools/list" && lists > 0 {
                    slow.push_back((ticks, reply));
                } else {
                    lists += usize::from(message.method == "tools/list");
                    peer.send(&reply);
                }
            }
            Turn::Nothing => {
                for (left, _) in &mut slow {
                    *left = left.saturating_sub(1);
                }
                while let Some((0, reply)) = slow.front() {
                    peer.send(reply);
                    slow.pop_front();
                }
            }
            Turn::End => return 0,
        }
    }
}
