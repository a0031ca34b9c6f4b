//! The reaper: waits for the end of its host, and then ends what the host has left.
//!
//! It reads lines from its standard input, whose only writer is the host: `+ MARKER` before a child
//! is started, `= MARKER GROUP` once it runs, `- MARKER` when it is gone. The end of the input is the
//! end of the host.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::time::Instant;

use super::{REAPER, inherited};
use crate::process::sweep::Process;
use crate::process::{descendants, sweep};

/// A line, at most, in bytes; a longer one is dropped.
const LINE: usize = 128;
/// Children that are kept in mind, at most.
const CHILDREN: usize = 16 * 1024;
/// From TERM to KILL.
const GRACE: Duration = Duration::from_millis(500);
/// A process may be between its start and its marker: nothing must be found for this long.
const QUIET: Duration = Duration::from_millis(300);
/// What has not ended by then is left: nobody could wait for it.
const PATIENCE: Duration = Duration::from_millis(5500);
const LOOK: Duration = Duration::from_millis(20);
/// How often the trees of the children are looked at.
const TREES: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// Group of each marker, once it is known.
type Children = BTreeMap<String, Option<Pid>>;

pub(super) fn run() -> ExitCode {
    inherited::ignore_signals();
    inherited::close();
    // Nobody's working directory is kept in use, and `ps` knows us by name; neither is essential.
    drop(std::env::set_current_dir("/"));
    drop(std::fs::write("/proc/self/comm", REAPER));
    let left = read();
    if !left.is_empty() {
        end(&left);
    }
    ExitCode::SUCCESS
}

/// Reads until the end, and returns the children that were not gone by then.
fn read() -> Children {
    let mut children = Children::new();
    let input = std::io::stdin(); // read past its buffer: what is in there no poll tells of
    let mut piece = [0; 4096];
    let mut line = Vec::with_capacity(LINE);
    loop {
        wait(&children);
        let n = match rustix::io::read(&input, &mut piece) {
            Err(Errno::INTR) => continue,
            Ok(n @ 1..) => n,
            Ok(_) | Err(_) => return children,
        };
        for byte in &piece[..n] {
            match *byte {
                b'\n' => {
                    take(&mut children, std::str::from_utf8(&line).unwrap_or_default());
                    line.clear();
                }
                byte if line.len() < LINE => line.push(byte),
                _ => {} // its end is missing, so it is not understood either
            }
        }
    }
}

/// Waits for input, and looks at the trees of the children meanwhile: what has left its group and
/// cleaned its environment is known only while its parent lives.
fn wait(children: &Children) {
    loop {
        let stdin = std::io::stdin();
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        let patience = (!children.is_empty()).then_some(&TREES);
        match poll(&mut input, patience) {
            Ok(0) => {
                children.values().flatten().for_each(|leader| drop(descendants::look(*leader)));
            }
            Ok(_) => return,
            Err(Errno::INTR) => {}
            Err(_) => return, // then the read says what is wrong
        }
    }
}

fn take(children: &mut Children, line: &str) {
    let mut words = line.split(' ');
    let (verb, Some(marker)) = (words.next(), words.next()) else { return };
    let known = marker.len() == 32 && marker.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !known {
        return;
    }
    match verb {
        Some("+") if children.len() < CHILDREN => {
            children.insert(marker.to_owned(), None);
        }
        Some("=") => {
            let group = words.next().and_then(|word| word.parse().ok()).filter(|n| *n > 1);
            if let (Some(group), Some(child)) =
                (group.and_then(Pid::from_raw), children.get_mut(marker))
            {
                *child = Some(group);
            }
        }
        Some("-") => {
            if let Some(leader) = children.remove(marker).flatten() {
                descendants::forget(leader);
            }
        }
        _ => {}
    }
}

/// Ends every group and whoever carries a marker: TERM, a short grace, KILL, until nothing is found.
fn end(children: &Children) {
    let start = Instant::now();
    let ours = |marker: &str| children.contains_key(marker);
    let groups: Vec<Pid> = children.values().flatten().copied().collect();
    let send = |signal| {
        for group in &groups {
            // Fails when nobody is left, and that is what we want.
            let _ = kill_process_group(*group, signal);
        }
    };
    // Those of them that the parent-death signal has not ended yet say what is below them.
    let below: Vec<Process> = groups.iter().flat_map(|leader| descendants::look(*leader)).collect();
    send(Signal::TERM);
    sweep::signal_marked(&ours, &[Signal::TERM]);
    descendants::signal(&below, &[Signal::TERM]);
    let living = || sweep::living(&ours, &groups) || below.iter().any(Process::runs);
    while start.elapsed() < GRACE && living() {
        pause();
    }
    let mut quiet_since = Instant::now();
    while start.elapsed() < PATIENCE && quiet_since.elapsed() < QUIET {
        send(Signal::KILL);
        let found = sweep::signal_marked(&ours, &[Signal::STOP, Signal::KILL])
            + descendants::signal(&below, &[Signal::STOP, Signal::KILL]);
        if found > 0 || living() {
            quiet_since = Instant::now();
        }
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "there is no runtime here to block")]
fn pause() {
    std::thread::sleep(LOOK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_none_changes_nothing() {
        let marker = "0123456789abcdef0123456789abcdef";
        let mut children = Children::new();
        for line in ["", "+", "+ short", "= ", "x y z", &format!("= {marker} 12"), "- ?"] {
            take(&mut children, line);
            assert!(children.is_empty(), "{line}");
        }
        take(&mut children, &format!("+ {marker}"));
        // 0 and 1 would be our own group and everybody's.
        for group in ["0", "1", "-1", "x", ""] {
            take(&mut children, &format!("= {marker} {group}"));
            assert_eq!(children.get(marker), Some(&None), "{group}");
        }
        take(&mut children, &format!("= {marker} 12"));
        assert_eq!(children.get(marker), Some(&Pid::from_raw(12)));
        take(&mut children, &format!("- {marker}"));
        assert!(children.is_empty());
    }
}
