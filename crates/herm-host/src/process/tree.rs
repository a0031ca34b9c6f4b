//! A child and its descendants, ended together.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::process::Signal as Kill;
use tokio::signal::unix::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use super::leader::Leader;
use super::sweep::Process;
use super::{Exit, Remains, children, descendants, sweep};
use crate::transport::Graces;

/// How long what was killed may take to vanish; after that it is unkillable.
const VANISH: Duration = Duration::from_secs(5);
/// How often the process table is read while something is expected to vanish from it.
const LOOK: Duration = Duration::from_millis(10);

/// The leader of a process group, its group, and whatever carries its marker. Dropping it kills all
/// of them.
#[derive(Debug)]
pub(crate) struct Tree {
    leader: Leader,
    /// Wakes for the exit of any child of ours.
    exits: Signal,
    exit: Option<Exit>,
}

impl Tree {
    /// Takes over a child that was just started in a group of its own.
    pub(super) fn new(leader: Leader, exits: Signal) -> Self {
        Self { leader, exits, exit: None }
    }

    #[cfg(test)]
    pub(super) fn into_leader(self) -> Leader {
        self.leader
    }

    /// Process id of the leader.
    pub(crate) fn pid(&self) -> u32 {
        self.leader.pid().as_raw_nonzero().get().unsigned_abs()
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
            children::look();
            self.exit = self.leader.peek();
        }
    }

    /// Ready when the leader has ended. Cancel-safe.
    pub(crate) async fn exit(&mut self) -> Exit {
        std::future::poll_fn(|cx| self.poll_exit(cx)).await
    }

    /// Ends the tree, its standard input being closed: waits `graces.stop`, TERM to the group,
    /// waits `graces.term`, KILL to the group and to what has left it, and only when all of that is
    /// gone reaps the leader. Takes at most five seconds more than the graces.
    ///
    /// Dropping the future kills the tree without further grace.
    ///
    /// # Errors
    /// [`Remains`]: what KILL did not end in five seconds.
    pub(crate) async fn end(mut self, graces: Graces) -> Result<Exit, Remains> {
        let leader = self.leader.pid();
        // While it lives it says whose its descendants are. Late, it is what was seen before.
        let look = tokio::task::spawn_blocking(move || drop(descendants::look(leader)));
        drop(timeout_at(Instant::now() + LOOK * 10, look).await);
        if !self.leaves_by(Instant::now() + graces.stop, Wait::Leader).await {
            self.leader.signal_group(Kill::TERM);
            descendants::signal(&descendants::known(leader), &[Kill::TERM]);
            self.leaves_by(Instant::now() + graces.term, Wait::Group).await;
        }
        self.leader.signal_group(Kill::KILL);
        let until = Instant::now() + VANISH;
        let left = vanish(self.leader.marker(), self.leader.pid(), until).await;
        let exit = match self.exit.or_else(|| self.leader.peek()) {
            Some(exit) => Some(exit),
            None => timeout_at(until, self.exit()).await.ok(),
        };
        match exit {
            Some(exit) if left.is_empty() => {
                self.leader.reap();
                Ok(exit)
            }
            _ => Err(Remains::new(self.leader, left)),
        }
    }

    /// Waits for the leader to end, and tells whether all of its group has ended too; with
    /// [`Wait::Group`] it waits for that as well.
    async fn leaves_by(&mut self, deadline: Instant, wait: Wait) -> bool {
        if timeout_at(deadline, self.exit()).await.is_err() {
            return false;
        }
        loop {
            let leader = self.leader.pid();
            let lives = tokio::task::spawn_blocking(move || sweep::group_lives(leader));
            match timeout_at(deadline, lives).await {
                Ok(Ok(false)) => return true,
                Ok(Ok(true)) if wait == Wait::Group => sleep(LOOK).await,
                Ok(_) | Err(_) => return false,
            }
        }
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Wait {
    Leader,
    Group,
}

/// Kills whoever carries the marker, or was seen below the leader, round by round since a fork in
/// flight escapes one walk, until nobody of them or of the group runs. What still does at `until` is returned; if even the walk
/// is stuck (on a process whose environment cannot be read), what the last one found.
///
/// Off the runtime, since the process table may be slow.
pub(super) async fn vanish(
    marker: &str,
    group: rustix::process::Pid,
    until: Instant,
) -> Vec<Process> {
    let mut left = Process::of(group).into_iter().collect();
    loop {
        let marker = marker.to_owned();
        let round = tokio::task::spawn_blocking(move || {
            let below = descendants::look(group);
            let below_killed = descendants::signal(&below, &[Kill::STOP, Kill::KILL]);
            let (found, mut living) = match sweep::kill_marked(&marker) {
                0 => (0, sweep::left(None, group)),
                found => (found, sweep::left(Some(&marker), group)),
            };
            living.extend(below.into_iter().filter(Process::runs));
            (found + below_killed, living)
        });
        match timeout_at(until, round).await {
            Ok(Ok((0, living))) if living.is_empty() => return living,
            Ok(Ok((_, living))) => left = living,
            Ok(Err(_)) | Err(_) => return left,
        }
        if Instant::now() >= until {
            return left;
        }
        sleep(LOOK).await;
    }
}
