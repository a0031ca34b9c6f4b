//! Lines over the standard streams of a child (S-1).
//!
//! One struct owns both pipes and the process tree; nothing runs beside it but the drain of
//! standard error. [`StdioLink::next`] writes what is unsent, then reads, in one poll.

mod outbox;

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use herm_core::wire::lines::{Line, Lines};
use tokio::io::{AsyncRead as _, AsyncReadExt as _, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Sleep, sleep, timeout};

use super::{Graces, LinkError, LinkEvent, NotSent, Outgoing};
use crate::process::stderr::{Drain, Nonblocking as _};
use crate::process::{Exit, SpawnPlan, Spawned, Tree, spawn};
use outbox::Outbox;

/// A child that takes nothing for this long, while there is something to take, does not read.
const STALLED: Duration = Duration::from_secs(30);
/// After the end of its output, or a broken input, a child has this long to show how it ended.
const LAST_MOMENT: Duration = Duration::from_millis(500);
/// What is still read after the exit, at most, in bytes: a pipe's content, and no more, since a
/// grandchild may hold the other end and write for ever.
const AFTER_EXIT: usize = 1024 * 1024;
/// How long closing tries to get rid of what is unsent.
const FLUSH: Duration = Duration::from_millis(200);

type LastWords = Pin<Box<dyn Future<Output = String> + Send>>;

/// A child and the lines to and from it. Dropping it ends the child's whole tree.
#[derive(Debug)]
pub(crate) struct StdioLink {
    /// `None` once it is broken.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    outbox: Outbox,
    lines: Lines,
    /// Runs while the child takes nothing that it should take.
    stalled: Option<Pin<Box<Sleep>>>,
    state: State,
    stderr: Drain,
    tree: Tree,
}

enum State {
    Open,
    /// The child has ended; what it left in the pipe is delivered first, up to so many bytes.
    Left {
        exit: Exit,
        bytes: usize,
    },
    /// The output has ended; the exit is expected until the sleep is over.
    Silent {
        until: Pin<Box<Sleep>>,
    },
    /// The last lines of standard error are fetched.
    Reporting {
        exit: Option<Exit>,
        last_words: LastWords,
    },
    Over,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open => "Open",
            Self::Left { .. } => "Left",
            Self::Silent { .. } => "Silent",
            Self::Reporting { .. } => "Reporting",
            Self::Over => "Over",
        })
    }
}

impl StdioLink {
    /// Starts the child; `limit` bounds one line, in bytes.
    ///
    /// # Errors
    /// Those of [`spawn`].
    pub(crate) async fn start(plan: SpawnPlan, limit: usize) -> Result<Self, LinkError> {
        let Spawned { stdin, stdout, stderr, tree } = spawn(&plan).await?;
        Ok(Self {
            stdin: Some(stdin),
            stdout,
            outbox: Outbox::default(),
            lines: Lines::new(limit),
            stalled: None,
            state: State::Open,
            stderr,
            tree,
        })
    }

    /// Takes a message; [`StdioLink::next`] writes it.
    ///
    /// # Errors
    /// [`NotSent::Full`] while more than 1 MiB is unsent, [`NotSent::Closed`] once the child takes
    /// no more.
    pub(crate) fn send(&mut self, message: Outgoing) -> Result<(), NotSent> {
        match self.state {
            State::Open if self.stdin.is_some() => self.outbox.push(message.body),
            _ => Err(NotSent::Closed),
        }
    }

    /// The next event. Cancel-safe: all progress is kept in `self`. After
    /// [`LinkEvent::Closed`] it is pending for ever.
    pub(crate) async fn next(&mut self) -> LinkEvent {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Process id of the child, for status.
    pub(crate) fn pid(&self) -> Option<u32> {
        Some(self.tree.pid())
    }

    /// Ends the tree, see [`Tree::end`]; output is drained and dropped meanwhile, so that a child
    /// in the middle of a line is not stopped by a full or broken pipe.
    ///
    /// Returns how it ended, or [`LinkError::Unkillable`] if some of it still runs.
    pub(crate) async fn close(mut self, graces: Graces) -> LinkError {
        // A child that reads nothing costs this wait and no more.
        let _ = timeout(FLUSH.min(graces.stop), self.flush()).await;
        let Self { stdin, mut stdout, stderr, tree, .. } = self;
        drop(stdin);
        let ended = {
            let end = tree.end(graces);
            tokio::pin!(end);
            let mut sink = vec![0; 8 * 1024];
            let mut open = true;
            loop {
                tokio::select! {
                    biased;
                    ended = &mut end => break ended,
                    read = stdout.read(&mut sink), if open => open = matches!(read, Ok(n) if n > 0),
                }
            }
        };
        let stderr = stderr.finish().await;
        match ended {
            Ok(Exit { code, signal }) => LinkError::Exited { code, signal, stderr },
            Err(remains) => LinkError::Unkillable { remains },
        }
    }

    async fn flush(&mut self) {
        while let Some(stdin) = &mut self.stdin
            && !self.outbox.is_empty()
        {
            let written = std::future::poll_fn(|cx| self.outbox.poll_write(cx, stdin)).await;
            if !matches!(written, Ok(n) if n > 0) {
                return;
            }
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        loop {
            if matches!(self.state, State::Over) {
                return Poll::Pending;
            }
            if matches!(self.state, State::Open) && self.poll_write(cx).is_err() {
                self.state = State::Over;
                return Poll::Ready(LinkEvent::Closed(LinkError::NotReading));
            }
            if let Some(line) = self.lines.cut() {
                return Poll::Ready(event(line));
            }
            let step = match &mut self.state {
                State::Open => self.poll_open(cx),
                State::Left { exit, bytes } => {
                    let (exit, bytes) = (*exit, *bytes);
                    Poll::Ready(self.read_left(exit, bytes))
                }
                State::Silent { until } => match self.tree.poll_exit(cx) {
                    Poll::Ready(exit) => Poll::Ready(self.report(Some(exit))),
                    Poll::Pending => until.as_mut().poll(cx).map(|()| self.report(None)),
                },
                State::Reporting { exit, last_words } => {
                    let exit = *exit;
                    last_words.as_mut().poll(cx).map(|stderr| self.closed(exit, stderr))
                }
                State::Over => Poll::Pending,
            };
            if let Some(event) = std::task::ready!(step) {
                return Poll::Ready(event);
            }
        }
    }

    /// Writes what the pipe takes. An error means that the child does not read.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<(), ()> {
        while let Some(stdin) = &mut self.stdin
            && !self.outbox.is_empty()
        {
            match self.outbox.poll_write(cx, stdin) {
                Poll::Ready(Ok(n)) if n > 0 => self.stalled = None,
                Poll::Ready(_) => {
                    // The child closed its input, and is mostly about to end: how it did is the
                    // better report.
                    self.stdin = None;
                    self.outbox.clear();
                    self.stalled = Some(Box::pin(sleep(LAST_MOMENT)));
                }
                Poll::Pending => {
                    self.stalled.get_or_insert_with(|| Box::pin(sleep(STALLED)));
                    break;
                }
            }
        }
        if let Some(stalled) = &mut self.stalled
            && stalled.as_mut().poll(cx).is_ready()
        {
            return Err(());
        }
        Ok(())
    }

    /// Reads once, or sees the end of the child or of its output. The exit comes first: a
    /// grandchild that writes without a pause must not hide it.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Option<LinkEvent>> {
        if let Poll::Ready(exit) = self.tree.poll_exit(cx) {
            self.state = State::Left { exit, bytes: AFTER_EXIT };
            return Poll::Ready(None);
        }
        if std::task::ready!(self.poll_read(cx)).is_ok_and(|n| n > 0) {
            return Poll::Ready(None);
        }
        self.state = State::Silent { until: Box::pin(sleep(LAST_MOMENT)) };
        Poll::Ready(self.last_line())
    }

    /// Reads once. Between two lines it reads by way of the stack, so that a child that says
    /// nothing costs no buffer.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.lines.is_empty() {
            return std::pin::pin!(self.stdout.read_buf(self.lines.room())).poll(cx);
        }
        let mut piece = [MaybeUninit::uninit(); 8 * 1024];
        let mut piece = ReadBuf::uninit(&mut piece);
        std::task::ready!(Pin::new(&mut self.stdout).poll_read(cx, &mut piece))?;
        self.lines.push(piece.filled());
        Poll::Ready(Ok(piece.filled().len()))
    }

    /// Reads what the child left in the pipe. It asks the pipe itself: the runtime may not have
    /// heard yet that there is something in it.
    fn read_left(&mut self, exit: Exit, bytes: usize) -> Option<LinkEvent> {
        let mut piece = [0; 8 * 1024];
        if bytes > 0
            && let Ok(n @ 1..) = self.stdout.read_now(&mut piece)
        {
            self.lines.push(&piece[..n]);
            self.state = State::Left { exit, bytes: bytes.saturating_sub(n) };
            return None;
        }
        self.report(Some(exit));
        self.last_line()
    }

    /// What came after the last line feed, if it is whole. A message that was cut in the middle was
    /// never sent, so the end is the better report.
    fn last_line(&mut self) -> Option<LinkEvent> {
        match self.lines.rest()? {
            Line::Whole(line) if !line.trim_ascii_end().ends_with(b"}") => None,
            line => Some(event(line)),
        }
    }

    fn report(&mut self, exit: Option<Exit>) -> Option<LinkEvent> {
        self.state = State::Reporting { exit, last_words: Box::pin(self.stderr.last_words()) };
        None
    }

    fn closed(&mut self, exit: Option<Exit>, stderr: String) -> Option<LinkEvent> {
        self.state = State::Over;
        Some(LinkEvent::Closed(match exit {
            Some(Exit { code, signal }) => LinkError::Exited { code, signal, stderr },
            None => LinkError::OutputClosed { stderr },
        }))
    }
}

fn event(line: Line) -> LinkEvent {
    match line {
        Line::Whole(bytes) => LinkEvent::Frame { bytes, of: None },
        Line::Oversized(head) => LinkEvent::Oversized { head, of: None },
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
