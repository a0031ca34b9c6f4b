//! What KILL did not end.

use std::sync::Arc;
use std::time::Duration;

use super::leader::Leader;
use super::sweep::Process;

/// How often it is looked at: it may take minutes, or for ever.
const LOOK: Duration = Duration::from_millis(250);

/// Processes of a server that still run five seconds after KILL, mostly because they are stuck in the
/// system (a dead network file system, a broken device). Clones are handles to the same remains.
#[derive(Clone, Debug)]
pub struct Remains {
    /// Reaped after the last handle is dropped.
    _leader: Arc<Leader>,
    left: Arc<[Process]>,
}

impl Remains {
    pub(super) fn new(leader: Leader, mut left: Vec<Process>) -> Self {
        if left.is_empty() {
            // The walk saw nobody, and yet the leader has not ended.
            left.extend(Process::of(leader.pid()));
        }
        Self { _leader: Arc::new(leader), left: left.into() }
    }

    /// Their process ids, those that still run.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        let running = self.left.iter().filter(|process| process.runs());
        running.map(|process| process.pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Waits until none of them runs; for as long as it takes. Cancel-safe.
    pub async fn gone(&self) {
        while self.left.iter().any(Process::runs) {
            tokio::time::sleep(LOOK).await;
        }
    }
}
