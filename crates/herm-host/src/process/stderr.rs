//! A child's standard error: drained from the first moment, kept as a bounded tail.
//!
//! What a child says there is no sign of failure (S-2); it is what a person wants to read after
//! one.

mod log;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

pub(crate) use log::{Log, Sink};

/// How much of it is kept, in bytes.
const KEEP: usize = 64 * 1024;
/// How much is read at once, in bytes.
const CHUNK: usize = 2 * 1024;
/// How many lines [`Drain::last_words`] takes, and how many characters of each.
const LAST_LINES: usize = 8;
const LINE_CHARS: usize = 400;
/// How long [`Drain::last_words`] waits for the drain to catch up.
const CATCH_UP: Duration = Duration::from_millis(250);

/// The last 64 KiB. Clones are handles to the same tail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
}

impl Tail {
    /// The last `n` lines that say something, each at most 400 characters long, without escape
    /// sequences and control characters. A carriage return ends a line too, so that a progress bar
    /// is as long as its last state.
    pub(crate) fn last_lines(&self, n: usize) -> Vec<String> {
        let kept = self.locked().iter().copied().collect::<Vec<u8>>();
        let mut lines: Vec<String> = kept
            .rsplit(|byte| matches!(byte, b'\n' | b'\r'))
            .map(|line| plain(line).trim_end().chars().take(LINE_CHARS).collect::<String>())
            .filter(|line| !line.is_empty())
            .take(n)
            .collect();
        lines.reverse();
        lines
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.locked();
        let new = &bytes[bytes.len().saturating_sub(KEEP)..];
        let over = (kept.len() + new.len()).saturating_sub(KEEP);
        kept.drain(..over);
        kept.extend(new);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, VecDeque<u8>> {
        // The tail is bytes: it is as good after a panic as before.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that drains, and its tail. Dropping it ends the task.
#[derive(Debug)]
pub(crate) struct Drain {
    tail: Tail,
    asks: Arc<Asks>,
    task: JoinSet<()>,
    logged: bool,
}

impl Drain {
    /// Starts to drain `pipe`, also into `log`.
    pub(crate) fn start(
        pipe: impl AsyncRead + Nonblocking + Send + Unpin + 'static,
        log: Option<Sink>,
    ) -> Self {
        let tail = Tail::default();
        let asks = Arc::new(Asks::default());
        let logged = log.is_some();
        let mut task = JoinSet::new();
        task.spawn(drain(pipe, Kept { tail: tail.clone(), log }, Asked(Arc::clone(&asks))));
        Self { tail, asks, task, logged }
    }

    /// [`Drain::last_words`], and the end: whatever is written from now on is lost, and what was
    /// written is in the log (half a second is waited for that).
    pub(crate) async fn finish(mut self) -> String {
        let words = self.last_words().await;
        self.task.shutdown().await;
        if self.logged {
            log::saved().await;
        }
        words
    }

    /// The last lines, with all in them that the child wrote before this call. Never waits for the
    /// end of the pipe, which a grandchild may hold open.
    pub(crate) fn last_words(&self) -> impl Future<Output = String> + Send + use<> {
        let (tail, asks) = (self.tail.clone(), Arc::clone(&self.asks));
        async move {
            let caught_up = asks.ask();
            // Late is no failure: the tail is then shorter, as it would have been without asking. An
            // error means that the task is through: the tail is whole.
            let _ = tokio::time::timeout(CATCH_UP, caught_up).await;
            tail.last_lines(LAST_LINES).join("\n")
        }
    }
}

/// Who waits until what is in the pipe right now is read. A channel would do, at eight times the
/// memory.
#[derive(Debug, Default)]
struct Asks {
    bell: Notify,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    asks: Vec<oneshot::Sender<()>>,
    /// The task is through.
    is_over: bool,
}

impl Asks {
    fn ask(&self) -> oneshot::Receiver<()> {
        let (done, caught_up) = oneshot::channel();
        let mut waiting = self.locked();
        if !waiting.is_over {
            waiting.asks.push(done);
            self.bell.notify_one();
        }
        caught_up
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task's end of them.
struct Asked(Arc<Asks>);

impl Asked {
    fn answer(&self) {
        for done in std::mem::take(&mut self.0.locked().asks) {
            // The asker may have gone.
            let _ = done.send(());
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut waiting = self.0.locked();
        *waiting = Waiting { is_over: true, asks: Vec::new() };
    }
}

/// A pipe that can be read at once, whatever the runtime knows of its readiness.
pub(crate) trait Nonblocking {
    /// Reads what is there now, or fails with `WouldBlock`.
    fn read_now(&self, buffer: &mut [u8]) -> std::io::Result<usize>;
}

#[cfg(unix)]
impl<T: std::os::fd::AsFd> Nonblocking for T {
    fn read_now(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(rustix::io::read(self, buffer)?)
    }
}

/// Where everything goes that is read.
struct Kept {
    tail: Tail,
    log: Option<Sink>,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        self.tail.push(bytes);
        if let Some(log) = &mut self.log {
            log.push(bytes);
        }
    }
}

async fn drain(mut pipe: impl AsyncRead + Nonblocking + Unpin, mut kept: Kept, asked: Asked) {
    loop {
        tokio::select! {
            more = poll_fn(|cx| read(&mut pipe, &mut kept, cx)) => if !more {
                return;
            },
            () = asked.0.bell.notified() => {
                let mut buffer = [0; CHUNK];
                // Bounded: a pipe holds little, and a grandchild may go on writing.
                for _ in 0..KEEP / CHUNK * 4 {
                    match pipe.read_now(&mut buffer) {
                        Ok(0) | Err(_) => break,
                        Ok(n) => kept.push(&buffer[..n]),
                    }
                }
                asked.answer();
            }
        }
    }
}

/// Reads what has come, once; false at the end. The buffer is on the stack: a child that says nothing
/// costs none.
fn read(
    pipe: &mut (impl AsyncRead + Unpin),
    kept: &mut Kept,
    cx: &mut task::Context<'_>,
) -> Poll<bool> {
    let mut chunk = [MaybeUninit::uninit(); CHUNK];
    let mut chunk = ReadBuf::uninit(&mut chunk);
    let read = ready!(Pin::new(pipe).poll_read(cx, &mut chunk));
    kept.push(chunk.filled());
    Poll::Ready(read.is_ok() && !chunk.filled().is_empty())
}

/// `bytes` as text, without escape sequences and control characters; a tab becomes a space.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut chars = text.chars().peekable();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => skip_until(&mut chars, |c| matches!(c, '@'..='~')),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                Some(' '..='/') => skip_until(&mut chars, |c| matches!(c, '0'..='~')),
                _ => {}
            },
            '\u{9b}' => skip_until(&mut chars, |c| matches!(c, '@'..='~')),
            '\t' => plain.push(' '),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

fn skip_until(chars: &mut impl Iterator<Item = char>, last: impl Fn(char) -> bool) {
    for c in chars {
        if last(c) {
            return;
        }
    }
}

/// Skips the text of an operating system command or the like: up to BEL or ESC and a backslash.
fn skip_string(chars: &mut std::iter::Peekable<impl Iterator<Item = char>>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
