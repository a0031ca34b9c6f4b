//! The gates: every decision on what may pass, each a pure function with a reason.
//!
//! This is their place; most let everything pass until the gate stack is built.

pub mod admit;
pub mod clean;
pub mod egress;
pub mod env;
pub mod meta;
pub mod redact;
pub mod screen;
