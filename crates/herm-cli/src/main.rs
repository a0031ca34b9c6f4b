//! `herm`: connect to MCP servers, list what they offer, call it.

mod app;
mod arguments;
mod ask;
mod command_error;
mod commands;
mod demo_server;
mod door;
mod form;
mod hosts;
mod select;
mod session;
mod settings;
mod show;
mod ui;

use std::process::ExitCode;

fn main() -> ExitCode {
    app::run(std::env::args_os().collect())
}
