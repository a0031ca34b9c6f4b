//! Whatever arrives, in whatever order.

use std::time::Duration;

use super::sim::{policy, s};
use crate::lifecycle::{
    At, Effect, End, Failure, Input, Ledger, Lifecycle, Outcome, Policy, Probe, Seen, State, Step,
};

struct Walk {
    dice: fastrand::Rng,
    machine: Lifecycle,
    policy: Policy,
    now: At,
    alive: Option<u64>,
    stopped: bool,
    /// Opened or made ready since it was started: its loss costs an allowance.
    opened: bool,
    /// Starts after losses of opened sessions.
    spent: u32,
    owes: bool,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut policy = policy();
        policy.keep = dice.bool();
        policy.upkeep.idle = dice.bool().then(|| s(dice.u64(1..500)));
        policy.upkeep.lifetime = dice.bool().then(|| s(dice.u64(1..5000)));
        let machine = Lifecycle::new(policy.clone(), Ledger::default());
        let (alive, stopped, opened, spent, owes) = (None, false, false, 0, false);
        Self { dice, machine, policy, now: s(1), alive, stopped, opened, spent, owes }
    }

    fn input(&mut self) -> Input {
        let generation = self.dice.u64(0..4) + self.machine.generation().saturating_sub(2);
        let failure = Failure {
            permanent: self.dice.u8(0..8) == 0,
            local: self.dice.u8(0..8) == 0,
            login: self.dice.u8(0..8) == 0,
            retry_after: (self.dice.u8(0..8) == 0).then(|| s(self.dice.u64(0..9000))),
        };
        match self.dice.u8(0..27) {
            26 => Input::Proven,
            0..4 => Input::Want,
            4 => Input::Force,
            5..7 => Input::Opened(generation),
            7..11 => Input::Ready { generation, connectionless: self.dice.bool() },
            11..16 => Input::Ended { generation, end: End::Failed(failure) },
            16 => Input::Ended { generation, end: End::Asked },
            17 => Input::SessionGone(generation),
            18 => Input::RefreshFailed(generation),
            19 => {
                let probe = if self.dice.bool() { Probe::Ping } else { Probe::List };
                let outcomes = [Outcome::Answered, Outcome::NotKnown, Outcome::Silent];
                let outcome = outcomes[self.dice.usize(0..3)];
                Input::Probed { generation, probe, outcome }
            }
            20 => Input::Strike { generation, since: self.now, lost: self.dice.bool() },
            21 => Input::TrialAnswered,
            22 if self.dice.u8(0..4) == 0 => Input::Resumed,
            23 if self.dice.u8(0..4) == 0 => Input::Stuck(generation),
            24 if self.dice.u8(0..12) == 0 => Input::Stop,
            _ => Input::Tick,
        }
    }

    fn turn(&mut self, seed: u64) {
        let input = self.input();
        self.now += Duration::from_millis(self.dice.u64(0..40_000));
        let seen = Seen {
            life: self.now.saturating_sub(s(self.dice.u64(0..300))),
            pending: self.dice.usize(0..2),
            call: self.now.saturating_sub(s(self.dice.u64(0..300))),
            answered: 0,
            answered_at: At::ZERO,
        };
        let step = Step { at: self.now, dice: self.dice.f64(), seen };
        self.stopped |= input == Input::Stop;
        let before = self.machine.state();
        if matches!(&input, Input::Ended { generation, .. } if self.alive == Some(*generation)) {
            self.alive = None;
            self.owes |= self.opened;
            self.opened = false;
        }
        let mut ledger = self.machine.ledger().clone();
        if input == Input::Proven {
            ledger.note(&Event::Proven { at: self.now }, &self.policy);
        }
        let (person, forwards) = (
            matches!(input, Input::Force),
            matches!(before, State::Parked(_) | State::NeedsLogin) && input == Input::Want,
        );
        match self.machine.step(input.clone(), &step) {
            Some(Effect::Open { generation, forward, free }) => {
                let before = self.alive.replace(generation);
                assert_eq!(before, None, "seed {seed}: two at once");
                assert!(!self.stopped, "seed {seed}: opened after a stop");
                let planned = matches!(input, Input::Ended { .. });
                assert!(!free || person || planned, "seed {seed}: free by {input:?}");
                assert!(!forward || forwards, "seed {seed}: brought forward by {input:?}");
                if !free {
                    let wait = ledger.wait(self.now, &self.policy);
                    let may = forward && ledger.may_forward(self.now, &self.policy);
                    assert!(wait.is_none() || may, "seed {seed}: {input:?} went around {wait:?}");
                    self.spent += u32::from(ledger.owes);
                }
                self.owes = false;
            }
            Some(Effect::Close(_)) => assert!(self.alive.is_some(), "seed {seed}: nothing there"),
            Some(Effect::Probe(_)) => {
                assert_eq!(self.machine.state(), State::Ready, "seed {seed}: {input:?}");
            }
            _ => {}
        }
        match (&input, self.machine.state()) {
            (
                Input::Opened(of) | Input::Ready { generation: of, .. },
                State::Connecting | State::Ready,
            ) if self.alive == Some(*of) => {
                self.opened |= matches!(input, Input::Opened(_));
            }
            _ => {}
        }
        self.rests_with_a_deadline(&seen, seed);
    }

    /// What waits by itself has a time at which it goes on, and what has one does not spin.
    fn rests_with_a_deadline(&mut self, seen: &Seen, seed: u64) {
        let state = self.machine.state();
        let waits = matches!(state, State::Backoff | State::Parked(_) | State::NeedsLogin);
        if waits && self.policy.keep {
            let due = self.machine.deadline(seen);
            assert!(due.is_some(), "seed {seed}: {state:?} for ever");
            let longest = self.now + self.policy.longest() + s(9000);
            assert!(due.is_some_and(|due| due <= longest), "seed {seed}: {due:?} is no deadline");
        }
        if state == State::Ready {
            assert!(self.machine.deadline(seen).is_some() || seen.pending > 0, "seed {seed}");
        }
    }
}

#[test]
fn random_inputs_keep_the_invariants() {
    for seed in 0..3_000 {
        let mut walk = Walk::new(seed);
        for _ in 0..300 {
            walk.turn(seed);
        }
        let hours = walk.now.as_secs_f64() / 3600.0;
        let bound = 16.0 + hours * 6.0 + 1.0;
        assert!(f64::from(walk.spent) <= bound, "seed {seed}: {} starts in {hours} h", walk.spent);
        if walk.stopped && walk.alive.is_none() {
            assert_eq!(walk.machine.state(), State::Stopped, "seed {seed}");
        }
    }
}

/// Ticked at its own deadline, the machine moves or sets a later one.
#[test]
fn no_deadline_makes_the_machine_spin() {
    for seed in 0..1_000 {
        let mut walk = Walk::new(seed);
        for _ in 0..60 {
            walk.turn(seed);
        }
        let seen = Seen::default();
        let mut last = At::ZERO;
        for turn in 0..200 {
            let Some(due) = walk.machine.deadline(&seen) else { break };
            walk.now = walk.now.max(due);
            let step = Step { at: walk.now, dice: 0.5, seen };
            let moved = walk.machine.step(Input::Tick, &step);
            let next = walk.machine.deadline(&seen);
            assert!(moved.is_some() || next != Some(due) || turn == 0 || due > last, "seed {seed}");
            if moved.is_some() {
                break;
            }
            last = due;
        }
    }
}
