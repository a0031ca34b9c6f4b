//! The place of a logical stream: it outlives the connections that carry it (H-14).

use std::time::Duration;

use herm_core::wire::sse::Event;

/// Resumptions in a row that bring no new event id.
const TRIES: u32 = 5;

/// Longest wait that a server may ask for.
const RETRY_MAX: Duration = Duration::from_secs(60);

/// Where a stream is, and how long to wait before it is asked for again.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    last: Option<String>,
    retry: Option<Duration>,
    tries: u32,
}

impl Cursor {
    /// Takes the id of an event.
    pub(super) fn saw(&mut self, event: &Event) {
        if event.id.is_some() && event.id != self.last {
            self.last.clone_from(&event.id);
            self.tries = 0;
        }
    }

    /// Takes `retry`, milliseconds.
    pub(super) fn wait(&mut self, retry: u64) {
        self.retry = Some(Duration::from_millis(retry).min(RETRY_MAX));
    }

    /// The wait that the server asked for.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The id of the last event, if it had one.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref().filter(|last| !last.is_empty())
    }

    /// Counts a resumption: the id to resume after, and the wait before it. Nothing if there is no
    /// place to resume at, or if it was tried often enough.
    pub(super) fn resume(&mut self) -> Option<(String, Duration)> {
        let last = self.last()?.to_owned();
        if self.tries >= TRIES {
            return None;
        }
        self.tries += 1;
        let default = || Duration::from_millis(1000 + fastrand::u64(0..200));
        Some((last, self.retry.unwrap_or_else(default)))
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;
    use herm_core::wire::sse::Event;
    use std::time::Duration;

    fn event(id: Option<&str>) -> Event {
        Event { event: "message".to_owned(), data: String::new(), id: id.map(ToOwned::to_owned) }
    }

    #[test]
    fn the_place_survives_a_connection_without_events() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.resume(), None);
        cursor.saw(&event(Some("7")));
        cursor.wait(500);
        cursor.saw(&event(None));
        assert_eq!(cursor.resume(), Some(("7".to_owned(), Duration::from_millis(500))));
    }

    #[test]
    fn resuming_without_progress_ends() {
        let mut cursor = Cursor::default();
        cursor.saw(&event(Some("1")));
        assert_eq!(std::iter::from_fn(|| cursor.resume()).take(100).count(), 5);
        cursor.saw(&event(Some("2")));
        assert!(cursor.resume().is_some());
    }
}
