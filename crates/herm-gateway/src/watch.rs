//! Takes up changes of the configuration's files by itself.
//!
//! The files are looked at once a second: two system calls each, and it works where a file is
//! replaced, linked, mounted, or not there for a moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{MissedTickBehavior, interval};

use crate::gate::Gate;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long the servers that were started are waited for before the next look.
const WAIT: Duration = Duration::from_secs(30);

/// What tells a file from what it was.
type Seen = Vec<Option<(u64, u64, Option<SystemTime>)>>;

/// Looks until the gate ends. A file that cannot be used changes nothing; `status` and the host's log
/// say so.
pub async fn follow(gate: Arc<Gate>, files: Vec<PathBuf>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut taken = look(&files);
    let mut last = taken.clone();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = gate.stopping() => return,
        }
        let now = look(&files);
        // Taken up once it holds still: whoever writes may write in several steps.
        if now != taken && now == last {
            taken.clone_from(&now);
            tokio::select! {
                // What came of it is in the status and in the log.
                _reloaded = gate.reload(WAIT) => {}
                () = gate.stopping() => return,
            }
        }
        last = now;
    }
}

fn look(files: &[PathBuf]) -> Seen {
    let of = |file: &PathBuf| {
        let found = std::fs::metadata(file).ok()?;
        let inode = std::os::unix::fs::MetadataExt::ino(&found);
        Some((found.len(), inode, found.modified().ok()))
    };
    files.iter().map(of).collect()
}
