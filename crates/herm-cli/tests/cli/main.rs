//! The command line end to end: standard output, standard error and status together, in a cleared
//! environment.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod b01;
mod b01_host;
mod b05;
mod b07;
mod b09;
mod b09_host;
mod b12;
mod b14;
mod bad_input;
mod cases;
mod catalogue;
mod clean;
mod cleared;
mod client;
mod config;
mod control;
mod demo;
mod guarded;
mod hosts;
mod kept;
mod kill;
mod logs;
mod names;
mod parked;
mod reload;
mod sandbox;
mod serve;
mod servers;
mod sibling;
mod signals;
mod silent;
mod story;
mod terminal;
mod trees;
mod usage;
mod utilities;
mod words;
