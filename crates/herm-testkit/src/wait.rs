//! Waiting for something that announces itself to nobody.

use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(10);

/// Asks `predicate` every 10 ms until it gives something, and gives that.
///
/// For what cannot be awaited (another process's file, the process table). Panics with `what` after
/// `limit`.
pub fn wait_until<T>(limit: Duration, what: &str, mut predicate: impl FnMut() -> Option<T>) -> T {
    let start = now();
    loop {
        if let Some(value) = predicate() {
            return value;
        }
        if start.elapsed() >= limit {
            panic!("not within {limit:?}: {what}");
        }
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "tests of other processes wait in real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "there is no runtime here to block")]
fn pause() {
    std::thread::sleep(PAUSE);
}
