//! The library's face, driven against real processes.
#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod hostile;
mod support;
