//! A child and its descendants, ended together.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::process::{Pid, Signal as Kill, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Child;
use tokio::signal::unix::Signal;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{Exit, sweep};
use crate::transport::Graces;

/// How long what was killed may take to vanish.
const VANISH: Duration = Duration::from_secs(1);
/// How often the process table is read while something is expected to vanish from it.
const LOOK: Duration = Duration::from_millis(10);

/// The leader of a process group, its group, and whatever carries its marker.
///
/// The leader stays unreaped as long as this exists, dead or not, so its number, which is the
/// group's, can be nobody else's and a signal to the group hits nobody else.
#[derive(Debug)]
pub(crate) struct Tree {
    child: Child,
    pid: Pid,
    marker: String,
    /// Wakes for the exit of any child of ours.
    exits: Signal,
    exit: Option<Exit>,
    ended: bool,
}

impl Tree {
    /// Takes over a child that was just started in a group of its own. `None` if it has no id.
    pub(super) fn new(child: Child, exits: Signal, marker: String) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(child.id()?).ok()?)?;
        Some(Self { child, pid, marker, exits, exit: None, ended: false })
    }

    /// Process id of the leader.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Ready when the leader has ended. It is not reaped by this, and all that it wrote is in its
    /// pipes.
    pub(crate) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        loop {
            if let Some(exit) = self.exit {
                return Poll::Ready(exit);
            }
            // The signal was listened for before the child existed, so there is no need to look
            // without one.
            if ready!(self.exits.poll_recv(cx)).is_none() {
                return Poll::Pending;
            }
            self.exit = peek(self.pid);
        }
    }

    /// Ready when the leader has ended. Cancel-safe.
    pub(crate) async fn exit(&mut self) -> Exit {
        std::future::poll_fn(|cx| self.poll_exit(cx)).await
    }

    /// Ends the tree, its standard input being closed: waits `graces.stop`, TERM to the group,
    /// waits `graces.term`, KILL to the group, a sweep for what has left the group, and only then
    /// reaps the leader. Takes at most a second more than the graces. `None` if the leader could
    /// not be reaped by then.
    ///
    /// Dropping the future kills the tree without further grace.
    pub(crate) async fn end(mut self, graces: Graces) -> Option<Exit> {
        if !self.leaves_by(Instant::now() + graces.stop, Wait::Leader).await {
            self.signal_group(Kill::TERM);
            self.leaves_by(Instant::now() + graces.term, Wait::Group).await;
        }
        self.signal_group(Kill::KILL);
        let until = Instant::now() + VANISH;
        let _ = timeout_at(until, sweep(self.marker.clone())).await;
        let status = timeout_at(until, self.exit()).await.ok();
        if status.is_some() {
            // It has ended, so this reaps it at once.
            drop(timeout(LOOK, self.child.wait()).await);
        }
        self.ended = true;
        status
    }

    /// Waits for the leader to end, and tells whether all of its group has ended too; with
    /// [`Wait::Group`] it waits for that as well.
    async fn leaves_by(&mut self, deadline: Instant, wait: Wait) -> bool {
        if timeout_at(deadline, self.exit()).await.is_err() {
            return false;
        }
        loop {
            let leader = self.pid;
            let lives = tokio::task::spawn_blocking(move || sweep::group_lives(leader));
            match timeout_at(deadline, lives).await {
                Ok(Ok(false)) => return true,
                Ok(Ok(true)) if wait == Wait::Group => sleep(LOOK).await,
                Ok(_) | Err(_) => return false,
            }
        }
    }

    fn signal_group(&self, signal: Kill) {
        if self.exit == Some(Exit::default()) {
            // Somebody else reaped the leader, so the number may be another group's by now. The
            // marker still finds what is left.
            return;
        }
        // Fails when nobody is left, and that is what we want.
        let _ = kill_process_group(self.pid, signal);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.ended {
            self.signal_group(Kill::KILL);
            // Under a millisecond, and nobody is left who could do it later.
            sweep::kill_marked(&self.marker);
        }
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Wait {
    Leader,
    Group,
}

/// Walks the process table until a walk finds nobody with the marker: a fork in flight escapes
/// one walk. Off the runtime, since reading a stuck process's environment may block.
async fn sweep(marker: String) {
    loop {
        let marker = marker.clone();
        let walk = tokio::task::spawn_blocking(move || sweep::kill_marked(&marker));
        match walk.await {
            Ok(found) if found > 0 => sleep(LOOK).await,
            Ok(_) | Err(_) => return,
        }
    }
}

/// How the process ended, if it has; it stays a zombie.
fn peek(pid: Pid) -> Option<Exit> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(Some(status)) => {
            Some(Exit { code: status.exit_status(), signal: status.terminating_signal() })
        }
        Ok(None) | Err(rustix::io::Errno::INTR) => None,
        // Somebody else reaped it (a SIGCHLD that is ignored does): all we know is that it ended.
        Err(_) => Some(Exit::default()),
    }
}
