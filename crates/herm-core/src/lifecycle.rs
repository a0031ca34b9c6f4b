//! When one server is opened and closed.
//!
//! Pure: the supervisor owns one [`Lifecycle`] per server, feeds it inputs and carries out the
//! effect of each step. Nothing else decides to connect or to close.
//!
//! Invariant: from [`Effect::Open`] to the [`Input::Ended`] of the same generation no other is
//! opened, so a server never has two processes.

/// One server's machine.
#[derive(Debug, Default)]
pub struct Lifecycle {
    state: State,
    generation: u64,
}

/// Where a server is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// Nothing runs; demand starts it.
    #[default]
    Idle,
    /// An attempt is on its way.
    Connecting,
    /// Opened, listed, published.
    Ready,
    /// Told to end, not yet ended.
    Closing {
        /// Demand came meanwhile: open again afterwards.
        again: bool,
    },
    /// Told to end for good.
    Stopping,
    /// Over.
    Stopped,
}

/// What happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// A call, or an eager start, needs the server.
    Want,
    /// This generation is opened, listed, published.
    Ready(u64),
    /// This generation is over and its process reaped: its last word.
    Ended(u64),
    /// End the session that runs.
    Close,
    /// End for good.
    Stop,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// Open this generation.
    Open(u64),
    /// Close the one that runs.
    Close,
}

impl Lifecycle {
    /// Where it is.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The last generation that was opened; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// True if word that this generation is ready is still news: it is on its way, and not over,
    /// closed or replaced meanwhile.
    #[must_use]
    pub fn awaits(&self, generation: u64) -> bool {
        self.state == State::Connecting && self.generation == generation
    }

    /// Moves to the next state and says what to do about it.
    #[must_use]
    pub fn step(&mut self, input: Input) -> Option<Effect> {
        match (self.state, input) {
            (State::Stopping | State::Stopped, Input::Stop | Input::Want | Input::Close) => None,
            (State::Idle, Input::Stop) => {
                self.state = State::Stopped;
                None
            }
            (State::Connecting | State::Ready, Input::Stop) => {
                self.state = State::Stopping;
                Some(Effect::Close)
            }
            (State::Closing { .. }, Input::Stop) => {
                self.state = State::Stopping;
                None
            }

            (State::Idle, Input::Want) => Some(self.open()),
            (State::Closing { .. }, Input::Want) => {
                self.state = State::Closing { again: true };
                None
            }
            (State::Connecting, Input::Ready(from)) if from == self.generation => {
                self.state = State::Ready;
                None
            }
            (State::Connecting | State::Ready, Input::Close) => {
                self.state = State::Closing { again: false };
                Some(Effect::Close)
            }

            (State::Stopping, Input::Ended(from)) if from == self.generation => {
                self.state = State::Stopped;
                None
            }
            (State::Closing { again: true }, Input::Ended(from)) if from == self.generation => {
                Some(self.open())
            }
            (
                State::Connecting | State::Ready | State::Closing { again: false },
                Input::Ended(from),
            ) if from == self.generation => {
                self.state = State::Idle;
                None
            }

            // Demand already met, nothing to close, or word of an old generation.
            (_, Input::Want | Input::Close | Input::Ready(_) | Input::Ended(_)) => None,
        }
    }

    fn open(&mut self) -> Effect {
        self.state = State::Connecting;
        self.generation += 1;
        Effect::Open(self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, Input, Lifecycle, State};

    #[test]
    fn demand_during_a_close_opens_only_after_the_end() {
        let mut machine = Lifecycle::default();
        assert_eq!(machine.step(Input::Want), Some(Effect::Open(1)));
        assert_eq!(machine.step(Input::Ready(1)), None);
        assert_eq!(machine.step(Input::Close), Some(Effect::Close));
        assert_eq!(machine.step(Input::Want), None, "the old one still lives");
        assert_eq!(machine.step(Input::Ended(1)), Some(Effect::Open(2)));
        assert_eq!(machine.step(Input::Ended(1)), None, "word of an old generation");
        assert_eq!(machine.state(), State::Connecting);
    }

    #[test]
    fn a_session_that_ended_before_it_was_announced_is_not_ready() {
        let mut machine = Lifecycle::default();
        assert_eq!(machine.step(Input::Want), Some(Effect::Open(1)));
        assert!(machine.awaits(1));
        assert_eq!(machine.step(Input::Ended(1)), None);
        assert!(!machine.awaits(1), "it is over");
        assert_eq!(machine.step(Input::Want), Some(Effect::Open(2)));
        assert!(!machine.awaits(1), "another is on its way");
        assert_eq!(machine.step(Input::Close), Some(Effect::Close));
        assert!(!machine.awaits(2), "it is to end");
    }

    /// Whatever arrives, in whatever order: one generation at a time, and a stop is final.
    #[test]
    fn random_inputs_keep_the_invariants() {
        for seed in 0..2_000 {
            let mut dice = fastrand::Rng::with_seed(seed);
            let mut machine = Lifecycle::default();
            let mut alive = None;
            let mut stopped = false;
            for _ in 0..200 {
                let generation = dice.u64(0..4) + machine.generation().saturating_sub(2);
                let input = match dice.u8(0..10) {
                    0..3 => Input::Want,
                    3..5 => Input::Ready(generation),
                    5..8 => Input::Ended(generation),
                    8 => Input::Close,
                    _ => {
                        if dice.u8(0..20) == 0 {
                            Input::Stop
                        } else {
                            Input::Want
                        }
                    }
                };
                stopped |= input == Input::Stop;
                if matches!(input, Input::Ended(from) if alive == Some(from)) {
                    alive = None;
                }
                match machine.step(input) {
                    Some(Effect::Open(generation)) => {
                        let before = alive.replace(generation);
                        assert_eq!(before, None, "seed {seed}: two at once");
                        assert!(!stopped, "seed {seed}: opened after a stop");
                    }
                    Some(Effect::Close) => assert!(alive.is_some(), "seed {seed}: nothing there"),
                    None => {}
                }
            }
            if stopped && alive.is_none() {
                assert_eq!(machine.state(), State::Stopped, "seed {seed}");
            }
        }
    }
}
