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

use herm_host::helper;

fn main() -> ExitCode {
    // Before anything else: as a helper this process is none of what follows.
    if let Some(code) = helper::run_if_asked() {
        return code;
    }
    helper::adopt_orphans();
    let code = app::run(std::env::args_os().collect());
    helper::end_orphans();
    code
}
