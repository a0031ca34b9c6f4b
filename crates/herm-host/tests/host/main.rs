//! The library's face, driven against real processes.
#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod b02;
mod b03;
mod b04;
mod b05;
mod b06;
mod b08;
mod b09;
mod b11;
mod b12;
mod b13;
mod b14;
mod b16;
mod b17;
mod exits;
mod helper;
mod hostile;
mod kept;
mod limits;
mod listen;
mod real;
mod redact;
mod reload;
mod repeat;
mod rounds;
mod streams;
mod support;
mod utilities;
mod verdicts;
