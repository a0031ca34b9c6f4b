//! A child that runs, and the duty to end it and to reap it.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Exit, children, descendants, sweep};

/// The leader of a process group. It stays unreaped as long as this exists, dead or not, so its
/// number, which is the group's, can be nobody else's and a signal to the group hits nobody else.
///
/// Dropped, it kills the group and all that carries the marker, and leaves the reaping to the thread
/// that started it.
#[derive(Debug)]
pub(super) struct Leader {
    pid: Pid,
    marker: String,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// Ours to end and to reap.
    Ours,
    /// Somebody else reaped it, so the number may be another group's by now. The marker still finds
    /// what is left.
    Lost,
    /// Reaped by us.
    Reaped,
}

impl Leader {
    pub(super) fn new(pid: Pid, marker: String) -> Self {
        Self { pid, marker, state: State::Ours }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn marker(&self) -> &str {
        &self.marker
    }

    /// How it ended, if it has; it stays a zombie.
    pub(super) fn peek(&mut self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid), options) {
            Ok(Some(status)) => {
                Some(Exit { code: status.exit_status(), signal: status.terminating_signal() })
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => None,
            // Somebody else reaped it (a SIGCHLD that is ignored does): all we know is that it ended.
            Err(_) => {
                self.state = State::Lost;
                Some(Exit::default())
            }
        }
    }

    /// Sends a signal to the group.
    pub(super) fn signal_group(&self, signal: Signal) {
        if self.state == State::Ours {
            // Fails when nobody is left, and that is what we want.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Reaps it, once it has ended and its tree is gone.
    pub(super) fn reap(mut self) {
        if self.state == State::Ours && children::reap(self.pid) {
            self.state = State::Reaped;
        }
        // Dropped unreaped otherwise: then it is killed and reaped as such.
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.state != State::Reaped {
            self.signal_group(Signal::KILL);
            // Under a millisecond, and nobody is left who could do it later.
            sweep::kill_marked(&self.marker);
            descendants::signal(&descendants::known(self.pid), &[Signal::STOP, Signal::KILL]);
        }
        descendants::forget(self.pid);
        let pid = (self.state == State::Ours).then_some(self.pid);
        children::leave(std::mem::take(&mut self.marker), pid);
    }
}
