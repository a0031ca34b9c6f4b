//! The host's log, `logs/herm.log`: what happens, in lines, always on where there is a state folder.
//!
//! A view of the host's events. One task writes; nobody waits for it, and what it misses is said.

mod file;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use self::file::LogFile;
use self::text::{Level, Line, Quiet};
use crate::event::Event;

/// How lines look.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum LogFormat {
    /// `DATE TIME,ms LEVEL target: text`, UTC.
    #[default]
    Text,
    /// One JSON object a line: `{time, level, target, server, text}`.
    Json,
}

/// Most lines of one write.
const TOGETHER: usize = 64;
/// How long the last lines may take at the end of a host.
const LAST: Duration = Duration::from_millis(500);

/// Writes until `stop`, and then what is left.
pub(crate) async fn run(
    state: PathBuf,
    format: LogFormat,
    mut events: broadcast::Receiver<Event>,
    stop: CancellationToken,
) {
    let mut quiet = Quiet::default();
    let file = LogFile::new(&state);
    loop {
        let first = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            event = events.recv() => Some(event),
        };
        let mut lines = Vec::new();
        let over = match first {
            None | Some(Err(RecvError::Closed)) => true,
            Some(Ok(event)) => {
                lines.extend(quiet.line(&event, tokio::time::Instant::now().into_std()));
                false
            }
            Some(Err(RecvError::Lagged(lost))) => {
                lines.push(missed(lost));
                false
            }
        };
        loop {
            match events.try_recv() {
                Ok(event) => {
                    lines.extend(quiet.line(&event, tokio::time::Instant::now().into_std()));
                }
                Err(TryRecvError::Lagged(lost)) => lines.push(missed(lost)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
            if lines.len() >= TOGETHER && !over {
                break;
            }
        }
        let written = write(&file, &lines, format);
        if over {
            // A disk that does not answer keeps no host from ending.
            drop(tokio::time::timeout(LAST, written).await);
            return;
        }
        written.await;
    }
}

fn missed(lost: u64) -> Line {
    let text = format!("{lost} events came too fast to be written down");
    Line { level: Level::Warning, target: "herm.journal", server: None, text }
}

async fn write(file: &LogFile, lines: &[Line], format: LogFormat) {
    if lines.is_empty() {
        return;
    }
    let now = jiff::Timestamp::now();
    let text: String = lines.iter().map(|line| line.written(now, format)).collect();
    let file = file.clone();
    // A panic of the writing thread costs these lines and nothing else.
    drop(tokio::task::spawn_blocking(move || file.append(&text)).await);
}
