//! The command line end to end: standard output, standard error and status together, in a cleared
//! environment.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod b01;
mod b09;
mod bad_input;
mod cases;
mod client;
mod config;
mod control;
mod demo;
mod guarded;
mod kill;
mod logs;
mod names;
mod reload;
mod sandbox;
mod serve;
mod servers;
mod signals;
mod terminal;
mod trees;
mod usage;
mod utilities;
mod words;
