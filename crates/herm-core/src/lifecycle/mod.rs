//! When one server is opened, probed, closed, and given up for a while.
//!
//! Pure: the supervisor owns one [`Lifecycle`] per server, feeds it inputs with the time and what was
//! seen of the session, and carries out the effect of each step. Nothing else decides to connect, to
//! probe or to close. Breaker, keepalive, recycling, parking and lazy start are inputs to this one
//! machine, so that none of them can go around another.
//!
//! Invariants (random walks in the tests assert them):
//! - from [`Effect::Open`] to the [`Input::Ended`] of the same generation no other is opened, so a
//!   server never has two processes;
//! - no unplanned attempt goes around the back-off or the allowance of the [`Ledger`];
//! - a stop is final;
//! - nothing is waited for without a deadline ([`Lifecycle::deadline`]).

mod breaker;
mod input;
mod ledger;
mod life;
mod machine;
mod policy;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use breaker::{Breaker, Gate};
pub use input::{Close, Effect, End, Failure, Input, Parked, Seen, State, Step};
pub use ledger::{Event, Ledger, Wait};
pub use life::{Outcome, Probe};
pub use machine::Lifecycle;
pub use policy::Policy;

/// A moment, as the time since any fixed one: monotonic within a host.
pub type At = Duration;
