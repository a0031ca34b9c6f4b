//! The library's face, driven against real processes.

mod exits;
mod hostile;
mod redact;
mod support;
