//! Finds descendants that left their process group, by the marker in their environment.

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::*;
#[cfg(target_os = "linux")]
pub(super) use linux::*;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::Read as _;
    use std::os::fd::OwnedFd;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::super::MARKER;

    /// An environment is read up to here, in bytes; the marker is set by us, near its start or
    /// not much later.
    const ENVIRONMENT: u64 = 1024 * 1024;

    /// One round: kills every process that carries `marker`, and says how many it found. They are
    /// stopped first, so that none of them forks while the others are killed.
    pub(in super::super) fn kill_marked(marker: &str) -> usize {
        let entry = format!("{MARKER}={marker}");
        let found: Vec<OwnedFd> =
            processes().filter_map(|pid| marked(pid, entry.as_bytes())).collect();
        for signal in [Signal::STOP, Signal::KILL] {
            for process in &found {
                // It may be gone, and that is what we want.
                let _ = pidfd_send_signal(process, signal);
            }
        }
        found.len()
    }

    /// Whether a process of this group, other than its leader, still runs.
    pub(in super::super) fn group_lives(leader: Pid) -> bool {
        processes().any(|pid| {
            pid != leader
                && status(pid).is_some_and(|(state, group)| {
                    group == leader.as_raw_nonzero().get() && !matches!(state, b'Z' | b'X')
                })
        })
    }

    fn processes() -> impl Iterator<Item = Pid> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ours = rustix::process::getpid();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(Pid::from_raw)
            .filter(move |pid| *pid != ours)
    }

    /// A handle to the process, if it carries the entry. The handle is taken before the look, so
    /// that what was looked at is what will be killed, whoever gets the number later.
    fn marked(pid: Pid, entry: &[u8]) -> Option<OwnedFd> {
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let mut environment = Vec::new();
        let file = File::open(format!("/proc/{pid}/environ")).ok()?;
        file.take(ENVIRONMENT).read_to_end(&mut environment).ok()?;
        environment.split(|byte| *byte == 0).any(|found| found == entry).then_some(handle)
    }

    /// State and process group, from the fields behind the name (which may hold anything).
    fn status(pid: Pid) -> Option<(u8, i32)> {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let fields = &text[memchr::memrchr(b')', &text)? + 1..];
        let mut fields = std::str::from_utf8(fields).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        Some((state, fields.nth(1)?.parse().ok()?))
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use rustix::process::Pid;

    /// No process table to read here: the group is all that is ended.
    pub(in super::super) fn kill_marked(_marker: &str) -> usize {
        0
    }

    /// Unknown here, so that nothing is waited for.
    pub(in super::super) fn group_lives(_leader: Pid) -> bool {
        false
    }
}
