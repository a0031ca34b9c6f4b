//! Descendants that left their group and cleaned their environment: known by who started them.
//!
//! Neither the group nor the marker finds such a process, and once its parent has ended nothing says
//! whose it was. So the tree below each leader is looked at every two seconds, and before a leader is
//! ended, and what was seen is remembered by number and start time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal};

use super::sweep::{self, Process};

/// Processes that are remembered of one leader, at most.
const MOST: usize = 4_096;

/// What was seen, by leader.
type Seen = BTreeMap<i32, Vec<Process>>;

static SEEN: Mutex<Seen> = Mutex::new(BTreeMap::new());

fn seen() -> std::sync::MutexGuard<'static, Seen> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at the tree below a leader. What was seen before and still runs stays known, with what it has
/// started since; all of it is given back. Reads the process table.
pub(crate) fn look(leader: Pid) -> Vec<Process> {
    let before = known(leader);
    let mut all = below(leader);
    for process in before.into_iter().filter(Process::runs) {
        if all.len() < MOST && !all.contains(&process) {
            all.push(process);
            all.extend(below(process.pid));
        }
    }
    all.truncate(MOST);
    let key = leader.as_raw_nonzero().get();
    let mut seen = seen();
    if all.is_empty() {
        seen.remove(&key);
    } else {
        seen.insert(key, all.clone());
    }
    all
}

/// What was seen below a leader, whether it still runs or not.
pub(crate) fn known(leader: Pid) -> Vec<Process> {
    seen().get(&leader.as_raw_nonzero().get()).cloned().unwrap_or_default()
}

/// The leader is reaped: its number may be another's from now on.
pub(crate) fn forget(leader: Pid) {
    seen().remove(&leader.as_raw_nonzero().get());
}

/// Sends the signals to those of them that still run, each in turn; how many there are.
pub(crate) fn signal(processes: &[Process], signals: &[Signal]) -> usize {
    processes.iter().filter(|process| process.signal(signals)).count()
}

/// Children, their children, and so on; each once.
fn below(root: Pid) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut from = vec![root];
    while let Some(parent) = from.pop() {
        for child in sweep::children_of(parent) {
            let Some(process) = Process::of(child) else { continue };
            if found.len() >= MOST || found.contains(&process) {
                continue;
            }
            found.push(process);
            from.push(child);
        }
    }
    found
}
