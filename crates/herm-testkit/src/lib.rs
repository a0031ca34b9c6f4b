//! The other side of herm's tests: a cleared environment, the real servers, and a reader for what
//! the scripted server `herm-fake` saw. Helpers panic with a sentence that says what to do, since
//! their only callers are tests.
#![expect(clippy::panic, reason = "a helper that cannot help fails the test that called it")]

pub mod fake_log;
pub mod measure;
mod process;
pub mod real;
mod running;
mod sandbox;
mod wait;

use std::path::Path;

pub use process::processes_with;
pub use running::Running;
pub use sandbox::{Sandbox, binary};
pub use wait::wait_until;

/// Command line of a script of `herm-fake` over stdio, which logs to `log`.
#[must_use]
pub fn fake(script: &str, log: &Path) -> Vec<String> {
    let log = log.to_string_lossy().into_owned();
    vec![path_text("herm-fake"), script.to_owned(), "--log".to_owned(), log]
}

/// A script of `herm-fake` over HTTP on a free port; `set` are its `--set` choices.
#[must_use]
pub fn fake_http(sandbox: &Sandbox, script: &str, set: &[&str], log: &Path) -> Running {
    let mut command = sandbox.command(binary("herm-fake"));
    command.args([script, "--http", "0", "--log"]).arg(log);
    for choice in set {
        command.args(["--set", choice]);
    }
    Running::start(command)
}

/// Command line of `herm-hostile` in one of its modes.
#[must_use]
pub fn hostile(mode: &str) -> Vec<String> {
    vec![path_text("herm-hostile"), mode.to_owned()]
}

fn path_text(name: &str) -> String {
    binary(name).to_string_lossy().into_owned()
}

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
