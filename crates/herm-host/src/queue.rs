//! A bounded queue to one task, which takes no room while nothing waits in it.
//!
//! A channel of the runtime keeps a block for 32 messages from its first one on, and half a KiB beside
//! it; every server has two of these, and waits with both empty for most of its life.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

/// Room that is kept once there was use for it.
const KEPT: usize = 16;

/// Why a message was not taken, and the message.
#[derive(Debug)]
pub(crate) enum Refused<T> {
    /// So many wait already.
    Full(T),
    /// Nobody takes messages any more.
    Closed,
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    bound: usize,
    /// Wakes the receiver.
    filled: AtomicWaker,
    /// Wakes senders that wait for room.
    room: Notify,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    senders: usize,
    closed: bool,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A queue for `bound` messages.
pub(crate) fn queue<T>(bound: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State { waiting: VecDeque::new(), senders: 1, closed: false }),
        bound,
        filled: AtomicWaker::new(),
        room: Notify::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

/// The way in.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    /// Puts a message behind those that wait.
    pub(crate) fn try_send(&self, message: T) -> Result<(), Refused<T>> {
        let mut state = self.0.state();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.waiting.len() >= self.0.bound {
            return Err(Refused::Full(message));
        }
        state.waiting.push_back(message);
        drop(state);
        self.0.filled.wake();
        Ok(())
    }

    /// Waits for room. A message to nobody is dropped.
    pub(crate) async fn send(&self, mut message: T) {
        loop {
            let mut room = pin!(self.0.room.notified());
            // Before the look: room that is made after it is heard of.
            room.as_mut().enable();
            match self.try_send(message) {
                Err(Refused::Full(again)) => message = again,
                Ok(()) | Err(Refused::Closed) => return,
            }
            room.await;
        }
    }

    /// True once nobody takes messages any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.state().closed
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.senders -= 1;
        let last = state.senders == 0;
        drop(state);
        if last {
            self.0.filled.wake();
        }
    }
}

/// The way out. Dropped, it drops what waits.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

impl<T> Receiver<T> {
    /// The next message; nothing once every sender is gone. Can be dropped half-way without losing one.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        if let Some(message) = self.try_recv() {
            return Poll::Ready(Some(message));
        }
        // Between the look and this a message may have come.
        self.0.filled.register(cx.waker());
        match self.try_recv() {
            Some(message) => Poll::Ready(Some(message)),
            None if self.0.state().senders == 0 => Poll::Ready(self.try_recv()),
            None => Poll::Pending,
        }
    }

    /// The next message, if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<T> {
        let mut state = self.0.state();
        let was_full = state.waiting.len() >= self.0.bound;
        let message = state.waiting.pop_front();
        if state.waiting.is_empty() && state.waiting.capacity() > KEPT {
            state.waiting = VecDeque::new(); // a flood is over
        }
        drop(state);
        if was_full {
            self.0.room.notify_waiters();
        }
        message
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        let left = std::mem::take(&mut state.waiting);
        drop(state);
        drop(left); // whoever is behind a message may send another when it goes
        self.0.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;
    use tokio::task::JoinSet;

    use super::{Refused, queue};

    #[tokio::test]
    async fn messages_come_in_order_and_no_more_wait_than_the_bound() {
        let (sender, mut receiver) = queue(2);
        sender.try_send(1).unwrap();
        sender.try_send(2).unwrap();
        assert!(matches!(sender.try_send(3), Err(Refused::Full(3))));
        let mut waiting = JoinSet::new();
        waiting.spawn(async move {
            sender.send(3).await;
            sender.send(4).await;
        });
        for expected in 1..5 {
            assert_eq!(receiver.recv().await, Some(expected));
        }
        waiting.join_next().await.unwrap().unwrap();
        assert_eq!(receiver.recv().await, None, "every sender is gone");
    }

    #[tokio::test]
    async fn what_was_sent_before_the_last_sender_went_is_still_received() {
        let (sender, mut receiver) = queue(8);
        let other = sender.clone();
        drop(sender);
        other.try_send("last").unwrap();
        drop(other);
        assert_eq!(receiver.recv().await, Some("last"));
        assert_eq!(receiver.recv().await, None);
    }

    #[tokio::test]
    async fn a_receiver_that_goes_answers_everyone() {
        let (sender, receiver) = queue(1);
        let (answer, answered) = oneshot::channel::<()>();
        sender.try_send(answer).unwrap();
        let (late, refused) = oneshot::channel();
        let mut sending = JoinSet::new();
        let other = sender.clone();
        sending.spawn(async move { other.send(late).await });
        tokio::task::yield_now().await;
        assert!(!sender.is_closed());
        drop(receiver);
        answered.await.unwrap_err();
        sending.join_next().await.unwrap().unwrap();
        refused.await.unwrap_err();
        assert!(sender.is_closed());
        let (next, _) = oneshot::channel();
        assert!(matches!(sender.try_send(next), Err(Refused::Closed)));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn four_senders_and_a_small_queue_lose_nothing() {
        let (sender, mut receiver) = queue(3);
        let mut sending = JoinSet::new();
        for of in 0..4_u64 {
            let sender = sender.clone();
            sending.spawn(async move {
                for at in 0..2_000 {
                    sender.send(of * 2_000 + at).await;
                }
            });
        }
        drop(sender);
        let mut sum = 0;
        let mut last = [None; 4];
        while let Some(message) = receiver.recv().await {
            let of = usize::try_from(message / 2_000).unwrap();
            assert!(last[of] < Some(message), "in the order of each sender");
            last[of] = Some(message);
            sum += message;
        }
        assert_eq!(sum, (0..8_000).sum::<u64>());
    }

    #[tokio::test]
    async fn a_flood_leaves_no_room_behind() {
        let (sender, mut receiver) = queue(1_024);
        let message = Arc::new(());
        for _ in 0..1_000 {
            sender.try_send(Arc::clone(&message)).unwrap();
        }
        while receiver.try_recv().is_some() {}
        assert!(receiver.0.state().waiting.capacity() <= super::KEPT);
    }
}
