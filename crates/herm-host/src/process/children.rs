//! The one thread that starts children, and reaps those that nobody waits for.
//!
//! A parent-death signal is bound to the thread that started a child, so this one lives as long as
//! the process. It also tells the reaper which children there are, and starts it when it is needed.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::leader::Leader;
use super::sweep::Process;
use super::{descendants, spawn, sweep};
use crate::helper::REAPER;

/// Starts that may wait; a host has 8 at once.
const QUEUE: usize = 256;
/// How often a child that was killed is looked at until it can be reaped.
const SOON: Duration = Duration::from_millis(20);
/// How often inherited children are looked at; the end of one mostly announces itself.
const NOW_AND_THEN: Duration = Duration::from_secs(1);
/// How often the trees below the leaders are looked at.
const TREES: Duration = Duration::from_secs(2);
/// What was left to us at the end of the program is killed for so long.
const LAST: Duration = Duration::from_secs(2);

/// One start.
pub(super) struct Order {
    /// What to start: the server, or the launcher that becomes it.
    pub(super) command: Command,
    /// The marker in its environment.
    pub(super) marker: String,
    /// With a launcher: the helper program, and the pipe that the launcher reports to.
    pub(super) helper: Option<(PathBuf, OwnedFd)>,
}

/// A child that was started.
pub(super) struct Born {
    pub(super) leader: Leader,
    pub(super) pipes: Option<(ChildStdin, ChildStdout, ChildStderr)>,
}

enum Task {
    Start(Box<Order>, oneshot::Sender<io::Result<Born>>),
    Look,
}

/// The way to the thread.
struct Desk {
    tasks: SyncSender<Task>,
    /// Markers that are done with, and the child to be reaped, if it still has to be.
    leavings: Mutex<Vec<(String, Option<Pid>)>>,
}

static DESK: OnceLock<Option<Desk>> = OnceLock::new();
/// Whether whatever ends as a child of this process is reaped.
static ADOPTS: AtomicBool = AtomicBool::new(false);
/// Whether the thread has been asked to look and has not begun: a hundred servers that hear of one
/// exit ask once.
static WOKEN: AtomicBool = AtomicBool::new(false);

fn desk() -> Option<&'static Desk> {
    DESK.get_or_init(|| {
        let (tasks, orders) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("herm-children".to_owned());
        thread.spawn(move || Keeper::default().run(&orders)).ok()?;
        Some(Desk { tasks, leavings: Mutex::default() })
    })
    .as_ref()
}

/// Starts a child. Dropped on the way, it ends the child.
///
/// # Errors
/// That of the system, or that there is no thread or no place in its queue.
pub(super) async fn start(order: Order) -> io::Result<Born> {
    let none = || io::Error::other("there is no thread to start children from");
    let (born, hears) = oneshot::channel();
    let task = Task::Start(Box::new(order), born);
    desk().ok_or_else(none)?.tasks.try_send(task).map_err(|error| match error {
        TrySendError::Full(_) => io::Error::other("too many starts are waiting"),
        TrySendError::Disconnected(_) => none(),
    })?;
    hears.await.map_err(|_| none())?
}

/// From now on whatever ends as a child of this process is reaped.
pub(crate) fn adopt() {
    ADOPTS.store(true, Ordering::Relaxed);
}

/// A child has ended, and it may be an inherited one.
pub(super) fn look() {
    if ADOPTS.load(Ordering::Relaxed) {
        wake();
    }
}

/// Done with a marker. A child that is given along is reaped as soon as it has ended.
pub(super) fn leave(marker: String, pid: Option<Pid>) {
    if let Some(desk) = desk() {
        desk.leavings.lock().unwrap_or_else(PoisonError::into_inner).push((marker, pid));
        wake();
    }
}

/// Reaps a child of ours that has ended. False if it has not.
pub(super) fn reap(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(status) => return status.is_some(),
            Err(Errno::INTR) => {}
            Err(_) => return true, // no child of ours any more
        }
    }
}

/// Kills what was left to this program by servers that are gone, and waits for its end, two seconds at
/// most. For the end of a program that adopts and has no other children: whoever is none of ours and
/// not the reaper is a descendant of a server.
pub(crate) fn end_inherited() {
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    let until = Instant::now() + LAST;
    loop {
        let left: Vec<Process> = sweep::children()
            .into_iter()
            .filter_map(Process::of)
            .filter(|p| !is_reaper(p))
            .collect();
        if descendants::signal(&left, &[Signal::KILL]) == 0 || Instant::now() >= until {
            return;
        }
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the end of the program: no runtime is left to block"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

fn is_reaper(process: &Process) -> bool {
    let comm = std::fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
    comm.trim_end() == REAPER
}

fn wake() {
    if let Some(desk) = desk()
        && !WOKEN.swap(true, Ordering::AcqRel)
        && desk.tasks.try_send(Task::Look).is_err()
    {
        // Full: it is awake, and looks after each task.
        WOKEN.store(false, Ordering::Release);
    }
}

/// What the thread knows.
#[derive(Default)]
struct Keeper {
    /// Children of ours that are not reaped, by marker.
    running: BTreeMap<String, Option<Pid>>,
    /// Those of them that are to be reaped.
    leaving: Vec<(String, Pid)>,
    /// Inherited children that still run, at the last look.
    inherited: usize,
    /// When the trees were last looked at.
    looked: Option<Instant>,
    reaper: Option<Reaper>,
}

impl Keeper {
    fn run(mut self, tasks: &Receiver<Task>) {
        loop {
            let patience = match (self.leaving.is_empty(), self.inherited) {
                (false, _) => Some(SOON),
                (true, 1..) => Some(NOW_AND_THEN),
                (true, 0) => (!self.running.is_empty()).then_some(TREES),
            };
            let task = match patience {
                Some(patience) => tasks.recv_timeout(patience),
                None => tasks.recv().map_err(RecvTimeoutError::from),
            };
            match task {
                Ok(Task::Start(order, reply)) => {
                    let born = self.start(*order);
                    // Nobody waits any more: the leader is dropped, and so ends its tree.
                    drop(reply.send(born));
                }
                Ok(Task::Look) => WOKEN.store(false, Ordering::Release),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.bury();
            self.look_below();
            if ADOPTS.load(Ordering::Relaxed) {
                self.reap_inherited();
            }
        }
    }

    fn look_below(&mut self) {
        if self.looked.is_none_or(|looked| looked.elapsed() >= TREES) {
            self.looked = Some(Instant::now());
            self.running.values().flatten().for_each(|leader| drop(descendants::look(*leader)));
        }
    }

    fn start(&mut self, order: Order) -> io::Result<Born> {
        let Order { mut command, marker, helper } = order;
        self.running.insert(marker.clone(), None);
        let started = match &helper {
            Some((program, status)) => {
                // Before there is anything to guard.
                self.tell(program, &format!("+ {marker}\n"));
                // Children of this program that start at this very moment elsewhere inherit it too;
                // the launcher's word covers that.
                fcntl_setfd(status, FdFlags::empty())
                    .map_err(io::Error::from)
                    .and_then(|()| command.spawn())
            }
            None => command.spawn(),
        };
        let mut child = started.inspect_err(|_| self.forget(&marker))?;
        let raw = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = raw.ok_or_else(|| io::Error::other("it has no process id"))?;
        self.running.insert(marker.clone(), Some(pid));
        if let Some((program, status)) = helper {
            drop(status);
            self.tell(&program, &format!("= {marker} {pid}\n"));
        }
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let pipes = match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Some((stdin, stdout, stderr)),
            _ => None,
        };
        Ok(Born { leader: Leader::new(pid, marker), pipes })
    }

    /// Reaps what was left to us and has ended.
    fn bury(&mut self) {
        let new = match desk() {
            Some(desk) => {
                std::mem::take(&mut *desk.leavings.lock().unwrap_or_else(PoisonError::into_inner))
            }
            None => Vec::new(),
        };
        for (marker, pid) in new {
            match pid {
                Some(pid) => self.leaving.push((marker, pid)),
                None => self.forget(&marker),
            }
        }
        let (gone, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.leaving).into_iter().partition(|(_, pid)| reap(*pid));
        self.leaving = rest;
        for (marker, _) in gone {
            self.forget(&marker);
        }
    }

    fn forget(&mut self, marker: &str) {
        self.running.remove(marker);
        if let Some(reaper) = &mut self.reaper {
            // If it is gone, the next start makes another one, which never hears of this.
            drop(reaper.write(&format!("- {marker}\n")));
        }
    }

    /// Reaps every child that has ended and is neither one of ours nor the reaper.
    fn reap_inherited(&mut self) {
        let reaper = self.reaper.as_ref().map(|reaper| reaper.child.id().cast_signed());
        let known = |pid: &Pid| {
            let raw = pid.as_raw_nonzero().get();
            self.running.values().flatten().any(|ours| ours == pid) || reaper == Some(raw)
        };
        let strange: Vec<Pid> = sweep::children().into_iter().filter(|pid| !known(pid)).collect();
        self.inherited = strange.into_iter().filter(|pid| !reap(*pid)).count();
    }

    /// Tells the reaper, which is started if there is none, and told all it has to know.
    fn tell(&mut self, program: &Path, line: &str) {
        if let Some(reaper) = &mut self.reaper {
            if reaper.write(line).is_ok() {
                return;
            }
            // Somebody ended it, or stopped it for long.
            self.reaper = None;
        }
        self.reaper = Reaper::start(program).ok();
        let Some(reaper) = &mut self.reaper else { return };
        let mut all = String::new();
        for (marker, group) in &self.running {
            all.push_str(&format_known(marker, *group));
        }
        for line in all.split_inclusive('\n') {
            drop(reaper.write(line));
        }
    }
}

fn format_known(marker: &str, group: Option<Pid>) -> String {
    match group {
        Some(group) => format!("+ {marker}\n= {marker} {group}\n"),
        None => format!("+ {marker}\n"),
    }
}

/// The process that survives us, see `helper::reaper`. The pipe's only writer is this process.
struct Reaper {
    child: Child,
    lines: ChildStdin,
}

impl Reaper {
    fn start(program: &Path) -> io::Result<Self> {
        let mut child = spawn::reaper(program).stdin(Stdio::piped()).spawn()?;
        let Some(lines) = child.stdin.take() else {
            return Err(io::Error::other("it has no pipe"));
        };
        fcntl_setfl(&lines, fcntl_getfl(&lines)? | OFlags::NONBLOCK)?;
        Ok(Self { child, lines })
    }

    /// Never waits; a short line is written whole or not at all.
    fn write(&mut self, line: &str) -> io::Result<()> {
        self.lines.write_all(line.as_bytes())
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        // It may be stopped or dead already; a new one takes over, so it must not act.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
