//! A server of bad character. What it does at its start and in each call is drawn at random from
//! `--set seed=N` and the number of its process; a call that it answers is answered with the text that
//! it was given, so that a mixed-up answer shows.

use fastrand::Rng;

use crate::message::{Message, error, result};
use crate::peer::{Peer, Turn};
use crate::standard;

const TICK_MS: u64 = 20;
/// Later than the limit of any call of the run.
const LATE_MS: u64 = 2500;
const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const WORD: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}"#;

/// How it treats its list, until the next process.
#[derive(Clone, Copy, Eq, PartialEq)]
enum List {
    True,
    Refused,
    Empty,
    Nonsense,
    Unanswered,
}

struct Chaos<'a> {
    peer: &'a Peer,
    rng: Rng,
    list: List,
    /// Answers that come later, with the ticks that are left.
    late: Vec<(u64, String)>,
}

pub(crate) fn run(peer: &mut Peer) -> u8 {
    let seed: u64 = peer.choice("seed", "1").parse().unwrap_or(1);
    let generation = u64::try_from(peer.generation()).unwrap_or(1);
    let mut rng = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(generation));
    let start = rng.u8(..20);
    if start < 2 {
        return 3;
    }
    let deaf = start == 2;
    let mut list = if start == 3 { List::Unanswered } else { List::True };
    let mut late = Vec::new();
    loop {
        let turn = peer.turn(TICK_MS);
        let mut chaos = Chaos { peer, rng, list, late };
        match turn {
            Turn::Message(_) if deaf => {}
            Turn::Message(message) => {
                if let Some(code) = chaos.take(&message) {
                    return code;
                }
            }
            Turn::Nothing => chaos.tick(),
            Turn::End => return 0,
        }
        Chaos { rng, list, late, .. } = chaos;
    }
}

impl Chaos<'_> {
    /// The exit code, if that is how it goes on.
    fn take(&mut self, message: &Message) -> Option<u8> {
        if let Some(id) = message.asks("tools/list") {
            self.list(id, message);
            return None;
        }
        let Some(id) = message.asks("tools/call") else {
            standard::answer(self.peer, message);
            return None;
        };
        let reply = standard::reply(message).unwrap_or_default();
        match self.rng.u8(..40) {
            0 => return Some(7),
            1 => {
                // Half an answer is none.
                self.peer.send_bytes(&reply.as_bytes()[..reply.len() / 2]);
                return Some(1);
            }
            2 => {} // no answer at all
            3 => self.late.push((LATE_MS / TICK_MS, reply)),
            4 => {
                self.flood();
                self.peer.send(&reply);
            }
            5 => {
                self.list = match self.rng.u8(..5) {
                    0 => List::Refused,
                    1 => List::Empty,
                    2 => List::Nonsense,
                    3 => List::Unanswered,
                    _ => List::True,
                };
                self.peer.send(&reply);
                self.peer.send(NOTICE);
            }
            6 => {
                self.peer.send(&result("987654321", r#"{"content":[]}"#));
                self.peer.send(&reply);
            }
            7 => {
                self.peer.send("Traceback (most recent call last):\n\u{feff}{\"id\":");
                self.peer.send(&reply);
            }
            8 => {
                self.peer.send(&reply);
                self.peer.send(&reply);
            }
            9 => self.peer.send(&error(id, -32000, "not today")),
            10 => self.late.push((self.rng.u64(1..20), reply)),
            _ => self.peer.send(&reply),
        }
        None
    }

    fn list(&self, id: &str, message: &Message) {
        match self.list {
            List::True => standard::answer(self.peer, message),
            List::Refused => self.peer.send(&error(id, -32603, "")),
            List::Empty => self.peer.send(&result(id, r#"{"tools":[]}"#)),
            List::Nonsense => self.peer.send(&result(id, r#"{"tools":[7,{"name":[]},null]}"#)),
            List::Unanswered => {}
        }
    }

    fn flood(&mut self) {
        let count = self.rng.usize(1_000..20_000);
        Peer::send_unlogged(format!("{WORD}\n").repeat(count).as_bytes());
    }

    fn tick(&mut self) {
        for (left, _) in &mut self.late {
            *left -= 1;
        }
        let due = |(left, _): &mut (u64, String)| *left == 0;
        for (_, reply) in self.late.extract_if(.., due) {
            self.peer.send(&reply);
        }
    }
}
