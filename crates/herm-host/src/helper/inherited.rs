//! What a process inherits and its helper parts do not want: descriptors and signal settings.
#![expect(unsafe_code, reason = "descriptors by number and signal settings have no safe calls")]

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::io::{Errno, FdFlags, fcntl_setfd};

/// The descriptor with this number, if it is open. Whoever calls this owns it.
pub(super) fn take(fd: RawFd) -> Option<File> {
    // SAFETY: only borrowed to ask whether it is open.
    let open = fd > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(fd) }).is_ok();
    // SAFETY: it is open, and the caller is the only one who knows of it.
    open.then(|| unsafe { File::from_raw_fd(fd) })
}

/// Closes every descriptor over 2. Only for a process that has opened none itself.
pub(super) fn close() {
    for fd in open_descriptors() {
        // The listing's own descriptor is among them, and closed already.
        drop(take(fd).map(OwnedFd::from));
    }
}

/// Has every descriptor over 2 closed by the next exec.
pub(super) fn close_on_exec() {
    for fd in open_descriptors() {
        // SAFETY: a number that is not open is an error, and nothing else is done with it.
        let _ = fcntl_setfd(unsafe { BorrowedFd::borrow_raw(fd) }, FdFlags::CLOEXEC);
    }
}

fn open_descriptors() -> Vec<RawFd> {
    let folder = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    let entries = folder.into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|fd| *fd > 2).collect()
}

/// Signals are neither blocked nor ignored from here on.
pub(super) fn default_signals() {
    // A signal that does not exist or cannot be changed is an error that changes nothing.
    for signal in 1..=64 {
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut none = std::mem::MaybeUninit::uninit();
    // SAFETY: `sigemptyset` makes the set before it is used.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// What a terminal or a careless `kill` sends to a whole group is ignored from here on.
pub(super) fn ignore_signals() {
    for signal in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ] {
        // SAFETY: to ignore a signal runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Becomes `program`, with `words` as its arguments (the first is its name) and our environment.
/// Returns only the error. A file that the system cannot run is not handed to a shell.
pub(super) fn become_program(program: &CString, words: &[CString]) -> Errno {
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: the strings live until then, and the list ends with a null.
    unsafe { libc::execv(program.as_ptr(), pointers.as_ptr()) };
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
