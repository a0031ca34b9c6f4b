//! The launcher: a few system calls between the start of a child and the server itself.
//!
//! `herm-launch HOST STATUS PROGRAM ARGUMENT…`: the host's process id, the descriptor that hears of
//! the exec, and what to become. Environment, directory and the three streams are the server's
//! already.

use std::ffi::{CString, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::process::ExitCode;

use super::{ABOUT_TO_EXEC, inherited};

/// What a shell returns for a program that it could not run.
const NOT_RUN: u8 = 127;
const USAGE: u8 = 2;

pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let mut number = || words.next()?.to_str()?.parse::<i32>().ok();
    let (Some(host), Some(status)) = (number(), number()) else { return ExitCode::from(USAGE) };
    let words: Result<Vec<CString>, _> = words.map(|word| CString::new(word.into_vec())).collect();
    let (Some(mut status), Ok(words)) = (inherited::take(status), words) else {
        return ExitCode::from(USAGE);
    };
    let Some(program) = words.first() else { return ExitCode::from(USAGE) };

    if !die_with(host) {
        return ExitCode::FAILURE;
    }
    inherited::default_signals();
    inherited::close_on_exec();
    // A host that is gone cannot be told, and the exec then ends in the same second.
    drop(status.write_all(&[ABOUT_TO_EXEC]));
    let error = inherited::become_program(program, &words);
    drop(status.write_all(&error.raw_os_error().to_le_bytes()));
    ExitCode::from(NOT_RUN)
}

/// From now on this process, whatever it becomes, dies with the thread that started it. False if
/// that has died already.
fn die_with(host: i32) -> bool {
    #[cfg(target_os = "linux")]
    if rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .is_err()
    {
        return false;
    }
    // The host may have died before: then nothing would ever be sent.
    rustix::process::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() == host)
}
