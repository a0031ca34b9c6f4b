//! What waits to be POSTed, and in which order.
//!
//! Each message is a POST of its own, and two POSTs may overtake each other. Requests may; what we
//! merely tell the server (notifications, replies) may not, so those go one at a time. No request
//! overtakes `notifications/initialized`: servers refuse what comes before it.

use std::collections::VecDeque;

use crate::transport::{NotSent, OutKind, Outgoing};

/// Messages that may wait here, each kind.
const BOUND: usize = 256;

/// Messages that are not on their way yet.
#[derive(Debug, Default)]
pub(in crate::transport) struct Outbox {
    told: VecDeque<Outgoing>,
    requests: VecDeque<Outgoing>,
    /// A notification or reply is on its way.
    telling: bool,
    /// `initialized` waits or is on its way: requests are held.
    opening: bool,
    /// The GET stream is being asked for: requests are held a moment, so that what the server has
    /// to say meanwhile has a way, and its first GET is not taken for a resumption.
    asking: bool,
}

impl Outbox {
    /// Takes a message.
    pub(in crate::transport) fn push(&mut self, message: Outgoing) -> Result<(), NotSent> {
        let queue = match message.kind {
            OutKind::Request(_) => &mut self.requests,
            OutKind::Notification | OutKind::Reply => &mut self.told,
        };
        if queue.len() >= BOUND {
            return Err(NotSent::Full);
        }
        self.opening |= is_initialized(&message);
        queue.push_back(message);
        Ok(())
    }

    /// The next notification or reply, unless one is on its way. [`Outbox::told`] must follow.
    pub(in crate::transport) fn tell(&mut self) -> Option<Outgoing> {
        if self.telling {
            return None;
        }
        let message = self.told.pop_front()?;
        self.telling = true;
        Some(message)
    }

    /// The notification or reply on its way has arrived, or never will.
    pub(in crate::transport) fn told(&mut self) {
        self.telling = false;
        self.opening = self.told.iter().any(is_initialized);
    }

    /// The next request that may go.
    pub(in crate::transport) fn request(&mut self) -> Option<Outgoing> {
        if self.opening || self.asking { None } else { self.requests.pop_front() }
    }

    /// The GET stream is asked for, or no longer waited for.
    pub(in crate::transport) fn asking(&mut self, asking: bool) {
        self.asking = asking;
    }

    /// True while `initialized` has not arrived.
    pub(in crate::transport) fn opening(&self) -> bool {
        self.opening
    }

    /// Forgets a request that did not go yet.
    pub(in crate::transport) fn forget(&mut self, id: u64) {
        self.requests.retain(|message| message.kind != OutKind::Request(id));
    }
}

fn is_initialized(message: &Outgoing) -> bool {
    message.kind == OutKind::Notification && message.method == "notifications/initialized"
}

#[cfg(test)]
mod tests {
    use super::{BOUND, Outbox};
    use crate::transport::{NotSent, OutKind, Outgoing};

    fn message(kind: OutKind, method: &str) -> Outgoing {
        Outgoing { kind, method: method.to_owned(), body: String::new(), headers: Vec::new() }
    }

    #[test]
    fn no_request_overtakes_initialized() {
        let mut outbox = Outbox::default();
        outbox.push(message(OutKind::Notification, "notifications/initialized")).unwrap();
        outbox.push(message(OutKind::Request(1), "tools/list")).unwrap();
        assert!(outbox.request().is_none());
        assert!(outbox.tell().is_some());
        assert!(outbox.request().is_none());
        outbox.told();
        assert_eq!(outbox.request().unwrap().kind, OutKind::Request(1));
    }

    #[test]
    fn notifications_go_one_at_a_time_and_the_queue_is_bounded() {
        let mut outbox = Outbox::default();
        for n in 0..BOUND {
            outbox.push(message(OutKind::Reply, &n.to_string())).unwrap();
        }
        assert_eq!(outbox.push(message(OutKind::Reply, "")), Err(NotSent::Full));
        assert_eq!(outbox.tell().unwrap().method, "0");
        assert!(outbox.tell().is_none());
        outbox.told();
        assert_eq!(outbox.tell().unwrap().method, "1");
    }
}
