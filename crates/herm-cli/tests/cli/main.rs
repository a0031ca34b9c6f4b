//! The command line end to end: standard output, standard error and status together, in a cleared
//! environment.

mod bad_input;
mod config;
mod demo;
mod sandbox;
mod signals;
mod usage;
