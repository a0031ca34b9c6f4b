//! The library's face, driven against real processes.

mod hostile;
mod support;
