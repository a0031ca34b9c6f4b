//! Finds descendants that left their process group, by the marker in their environment.

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::*;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

/// One round against a marker: kills every process that carries it, and says how many it found. They
/// are stopped first, so that none of them forks while the others are killed.
pub(super) fn kill_marked(marker: &str) -> usize {
    use rustix::process::Signal;
    signal_marked(&|found| found == marker, &[Signal::STOP, Signal::KILL])
}

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

    /// Whether a marker is meant.
    type Ours<'a> = &'a dyn Fn(&str) -> bool;

    /// A process that cannot be taken for a later one with its number.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub(crate) struct Process {
        /// Its id.
        pub(crate) pid: Pid,
        /// When it was started, in ticks of the system.
        start: u64,
    }

    impl Process {
        /// The process with this number, if it runs.
        pub(crate) fn of(pid: Pid) -> Option<Self> {
            let stat = Stat::of(pid).filter(Stat::runs)?;
            Some(Self { pid, start: stat.start })
        }

        /// Whether it still runs; a zombie does not.
        pub(crate) fn runs(&self) -> bool {
            Self::of(self.pid).as_ref() == Some(self)
        }

        /// Sends it each signal in turn; false if it runs no more.
        pub(crate) fn signal(&self, signals: &[Signal]) -> bool {
            // The handle is taken before the look, so that what was looked at is what is hit.
            let Ok(handle) = pidfd_open(self.pid, PidfdFlags::empty()) else { return false };
            if !self.runs() {
                return false;
            }
            for signal in signals {
                // It may be gone, and that is what we want.
                let _ = pidfd_send_signal(&handle, *signal);
            }
            true
        }
    }

    /// Sends each signal in turn to every process with a marker that is ours; how many there are.
    pub(crate) fn signal_marked(ours: Ours<'_>, signals: &[Signal]) -> usize {
        let found: Vec<OwnedFd> = processes().filter_map(|pid| marked(pid, ours)).collect();
        for signal in signals {
            for process in &found {
                // It may be gone, and that is what we want.
                let _ = pidfd_send_signal(process, *signal);
            }
        }
        found.len()
    }

    /// Whether a process of this group, other than its leader, still runs.
    pub(crate) fn group_lives(leader: Pid) -> bool {
        processes().any(|pid| pid != leader && in_group(pid, &[leader]))
    }

    /// Whether anyone runs who has a marker of ours or is in one of the groups.
    pub(crate) fn living(ours: Ours<'_>, groups: &[Pid]) -> bool {
        processes().any(|pid| in_group(pid, groups) || marked(pid, ours).is_some())
    }

    /// Everyone who runs with this marker or in this group.
    pub(crate) fn left(marker: Option<&str>, group: Pid) -> Vec<Process> {
        let ours = |found: &str| marker == Some(found);
        let has_marker = |pid| marker.is_some() && marked(pid, &ours).is_some();
        processes()
            .filter(|pid| in_group(*pid, &[group]) || has_marker(*pid))
            .filter_map(Process::of)
            .collect()
    }

    /// Children of this process, started by it or inherited.
    pub(crate) fn children() -> Vec<Pid> {
        children_of(rustix::process::getpid())
    }

    /// Children of a process.
    pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
        let tasks = format!("/proc/{parent}/task");
        let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
        let lists =
            tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        lists
            .flat_map(|list| {
                list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
            })
            .filter_map(Pid::from_raw)
            .collect()
    }

    fn processes() -> impl Iterator<Item = Pid> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ours = rustix::process::getpid();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(Pid::from_raw)
            .filter(move |pid| *pid != ours)
    }

    /// A handle to the process, if it carries a marker of ours. The handle is taken before the look,
    /// so that what was looked at is what will be killed, whoever gets the number later.
    fn marked(pid: Pid, ours: Ours<'_>) -> Option<OwnedFd> {
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let mut environment = Vec::new();
        let file = File::open(format!("/proc/{pid}/environ")).ok()?;
        file.take(ENVIRONMENT).read_to_end(&mut environment).ok()?;
        let marker = environment.split(|byte| *byte == 0).find_map(|entry| {
            std::str::from_utf8(entry.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"=")?).ok()
        })?;
        ours(marker).then_some(handle)
    }

    fn in_group(pid: Pid, groups: &[Pid]) -> bool {
        Stat::of(pid).is_some_and(|stat| {
            stat.runs() && groups.iter().any(|group| group.as_raw_nonzero().get() == stat.group)
        })
    }

    struct Stat {
        state: u8,
        group: i32,
        start: u64,
    }

    impl Stat {
        /// From the fields behind the name (which may hold anything).
        fn of(pid: Pid) -> Option<Self> {
            let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            let fields = &text[memchr::memrchr(b')', &text)? + 1..];
            let mut fields = std::str::from_utf8(fields).ok()?.split_ascii_whitespace();
            let state = *fields.next()?.as_bytes().first()?;
            // The third field of the file is the state, the fifth the group, the 22nd the start.
            let group = fields.nth(1)?.parse().ok()?;
            let start = fields.nth(16)?.parse().ok()?;
            Some(Self { state, group, start })
        }

        fn runs(&self) -> bool {
            !matches!(self.state, b'Z' | b'X')
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use rustix::process::{Pid, Signal, test_kill_process, test_kill_process_group};

    type Ours<'a> = &'a dyn Fn(&str) -> bool;

    /// A process, by its number.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub(crate) struct Process {
        /// Its id.
        pub(crate) pid: Pid,
    }

    impl Process {
        /// The process with this number, if there is one.
        pub(crate) fn of(pid: Pid) -> Option<Self> {
            test_kill_process(pid).ok().map(|()| Self { pid })
        }

        /// Whether there is one.
        pub(crate) fn runs(&self) -> bool {
            test_kill_process(self.pid).is_ok()
        }

        /// Nothing tells it from a later one with its number: left alone.
        pub(crate) fn signal(&self, _signals: &[Signal]) -> bool {
            false
        }
    }

    /// No process table to read here: the group is all that is ended.
    pub(crate) fn signal_marked(_ours: Ours<'_>, _signals: &[Signal]) -> usize {
        0
    }

    /// Unknown here, so that nothing is waited for.
    pub(crate) fn group_lives(_leader: Pid) -> bool {
        false
    }

    /// Whether one of the groups has a process.
    pub(crate) fn living(_ours: Ours<'_>, groups: &[Pid]) -> bool {
        groups.iter().any(|group| test_kill_process_group(*group).is_ok())
    }

    /// Unknown here.
    pub(crate) fn left(_marker: Option<&str>, _group: Pid) -> Vec<Process> {
        Vec::new()
    }

    /// Unknown here.
    pub(crate) fn children() -> Vec<Pid> {
        Vec::new()
    }

    /// Unknown here.
    pub(crate) fn children_of(_parent: Pid) -> Vec<Pid> {
        Vec::new()
    }
}
