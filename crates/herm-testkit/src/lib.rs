//! The other side of herm's tests: a cleared environment, the real servers, and a reader for what
//! the scripted server `herm-fake` saw. Helpers panic with a sentence that says what to do, since
//! their only callers are tests.
#![expect(clippy::panic, reason = "a helper that cannot help fails the test that called it")]

pub mod fake_log;
mod process;
pub mod real;
mod running;
mod sandbox;
mod wait;

pub use process::processes_with;
pub use running::Running;
pub use sandbox::{Sandbox, binary};
pub use wait::wait_until;

/// Exactly `bytes` bytes of text in which a lost, doubled or moved piece shows: `herm-fake` answers
/// with it where a case wants a big result.
#[must_use]
pub fn big_text(bytes: usize) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        let at = text.len();
        let written = write!(text, "{at:x} ");
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    text.truncate(bytes);
    text
}
