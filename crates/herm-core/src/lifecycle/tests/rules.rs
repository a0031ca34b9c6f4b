//! Single rules: ledger, parking, recycling, wishes of persons.

use std::time::Duration;

use super::sim::{Server, Sim, policy, s};
use crate::lifecycle::{
    Close, Effect, End, Event, Failure, Input, Ledger, Lifecycle, Parked, Policy, Seen, State,
    Step, Wait,
};

fn step(at: Duration) -> Step {
    Step { at, dice: 0.0, seen: Seen::default() }
}

fn failed(at: u64, opened: bool) -> Event {
    Event::Failed {
        at: s(at),
        began: s(at),
        dice: 0.0,
        permanent: false,
        login: false,
        opened,
        answering: Duration::ZERO,
        not_before: None,
    }
}

#[test]
fn the_back_off_doubles_to_its_cap_and_then_the_server_is_parked() {
    let policy = policy();
    let mut ledger = Ledger::default();
    let mut waits = Vec::new();
    for _ in 0..8 {
        ledger.note(&failed(1000, false), &policy);
        waits.push(ledger.wait(s(1000), &policy).map(|wait| (wait, wait.until() - s(1000))));
    }
    let until = |seconds: f64| s(1000) + Duration::from_secs_f64(seconds);
    let backoff = |n: f64| Some((Wait::Backoff(until(n)), Duration::from_secs_f64(n)));
    let parked = |n: f64| Some((Wait::Parked(until(n)), Duration::from_secs_f64(n)));
    let expected = [
        backoff(1.0),
        backoff(2.0),
        backoff(4.0),
        backoff(8.0),
        parked(270.0),
        parked(540.0),
        parked(1080.0),
        parked(1620.0),
    ];
    assert_eq!(waits, expected, "jitter of ± 10 % at its least");
}

#[test]
fn sixteen_losses_spend_the_allowance_and_time_gives_it_back() {
    let policy = policy();
    let mut ledger = Ledger::default();
    for loss in 0..16 {
        ledger.note(&failed(loss, true), &policy);
        ledger.note(&Event::Proven { at: s(loss) }, &policy);
        assert_eq!(ledger.wait(s(loss), &policy), None, "loss {loss}");
        let started = Event::Started { at: s(loss), dice: 0.0, forward: false, free: false };
        ledger.note(&started, &policy);
    }
    assert_eq!(ledger.allowance(s(16), &policy), 0);
    ledger.note(&failed(16, true), &policy);
    ledger.note(&Event::Proven { at: s(16) }, &policy);
    let Some(Wait::Allowance(until)) = ledger.wait(s(16), &policy) else {
        panic!("no proof touches the allowance: {ledger:?}");
    };
    assert!(until > s(1700) && until < s(1817), "{until:?}");
    assert!(!ledger.may_forward(s(16), &policy), "no call goes around it");
    assert_eq!(ledger.wait(until, &policy), None);
}

#[test]
fn a_call_brings_a_parked_server_forward_once_in_five_minutes() {
    let mut machine = Lifecycle::new(Policy { keep: false, ..policy() }, Ledger::default());
    let permanent = Failure { permanent: true, ..Failure::default() };
    assert!(matches!(machine.step(Input::Want, &step(s(1))), Some(Effect::Open { .. })));
    let ended = |generation| Input::Ended { generation, end: End::Failed(permanent) };
    assert_eq!(machine.step(ended(1), &step(s(1))), None);
    assert_eq!(machine.state(), State::Parked(Parked::Failures), "a permanent cause parks at once");
    let brought = machine.step(Input::Want, &step(s(2)));
    assert!(matches!(brought, Some(Effect::Open { forward: true, .. })));
    assert_eq!(machine.step(ended(2), &step(s(2))), None);
    for second in 3..302 {
        assert_eq!(machine.step(Input::Want, &step(s(second))), None, "at {second}");
    }
    assert!(machine.step(Input::Want, &step(s(302))).is_some());
}

#[test]
fn a_call_brings_nothing_forward_that_has_just_failed() {
    let mut machine = Lifecycle::new(Policy { keep: false, ..policy() }, Ledger::default());
    let mut starts = Vec::new();
    for second in 1..=700 {
        let at = s(second);
        if let Some(Effect::Open { generation, .. }) = machine.step(Input::Want, &step(at)) {
            starts.push(second);
            let end = End::Failed(Failure::default());
            assert_eq!(machine.step(Input::Ended { generation, end }, &step(at)), None);
        }
    }
    // Back-off of 1, 2, 4, 8 s; parked with the fifth failure, after which a call may try again with
    // the back-off that goes on, and then once in five minutes or when the server's own time has come.
    assert_eq!(starts[..6], [1, 2, 4, 8, 16, 32], "{starts:?}");
    assert!(starts.len() <= 9, "{starts:?}");
    for pair in starts[5..].windows(2) {
        assert!(pair[1] - pair[0] >= 30, "{starts:?}");
    }
}

#[test]
fn a_person_waits_for_nothing_and_it_counts() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let permanent = Failure { permanent: true, ..Failure::default() };
    let _ = machine.step(Input::Want, &step(s(1)));
    let _ = machine.step(Input::Ended { generation: 1, end: End::Failed(permanent) }, &step(s(1)));
    let forced = machine.step(Input::Force, &step(s(2)));
    assert!(matches!(forced, Some(Effect::Open { free: true, .. })));
    let _ = machine.step(Input::Ended { generation: 2, end: End::Failed(permanent) }, &step(s(2)));
    assert_eq!(machine.ledger().failures, 2);
}

#[test]
fn what_other_hosts_know_is_obeyed() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let _ = machine.step(Input::Want, &step(s(1)));
    let known = Ledger { failures: 3, next: Some(s(9)), ..Ledger::default() };
    let denied = Input::Ended { generation: 1, end: End::Denied(known) };
    assert_eq!(machine.step(denied, &step(s(2))), None);
    assert_eq!((machine.state(), machine.next_attempt()), (State::Backoff, Some(s(9))));
    assert_eq!(machine.deadline(&Seen::default()), Some(s(9)));
    assert!(machine.step(Input::Tick, &step(s(9))).is_some());
}

#[test]
fn a_record_from_a_clock_that_was_set_holds_nobody_for_ever() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let _ = machine.step(Input::Want, &step(s(1)));
    let known = Ledger { failures: 3, next: Some(s(1_000_000)), ..Ledger::default() };
    let _ = machine.step(Input::Ended { generation: 1, end: End::Denied(known) }, &step(s(2)));
    assert!(machine.next_attempt().is_some_and(|at| at <= s(2) + policy().longest()));
}

#[test]
fn idle_and_old_servers_are_recycled_and_never_during_a_call() {
    let mut policy = policy();
    policy.upkeep.idle = Some(s(60));
    let mut sim = Sim::new(policy, Server::default(), 1);
    sim.feed(Input::Want);
    sim.run(s(30));
    sim.seen.call = s(30);
    sim.seen.pending = 1;
    sim.run(s(300));
    assert!(sim.is_ready(), "a call is pending");
    sim.seen.pending = 0;
    sim.run(s(600));
    assert_eq!((sim.machine.state(), &sim.closes[..]), (State::Idle, &[Close::Idle][..]));
    assert_eq!(sim.starts.len(), 1, "it rests until it is wanted");
    sim.feed(Input::Want);
    sim.run(sim.now + s(1));
    assert!(sim.is_ready());
    assert_eq!(
        sim.machine.ledger(),
        &Ledger { as_of: sim.machine.ledger().as_of, ..Ledger::default() }
    );
}

#[test]
fn demand_during_a_close_opens_only_after_the_end() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let _ = machine.step(Input::Want, &step(s(1)));
    let ready = Input::Ready { generation: 1, connectionless: false };
    assert_eq!(machine.step(ready, &step(s(1))), None);
    assert_eq!(machine.step(Input::Force, &step(s(2))), Some(Effect::Close(Close::Restart)));
    assert_eq!(machine.step(Input::Want, &step(s(2))), None, "the old one still lives");
    let ended = Input::Ended { generation: 1, end: End::Asked };
    let opened = machine.step(ended.clone(), &step(s(3)));
    assert_eq!(opened, Some(Effect::Open { generation: 2, forward: false, free: true }));
    assert_eq!(machine.step(ended, &step(s(3))), None, "word of an old generation");
    assert_eq!(machine.state(), State::Connecting);
}

#[test]
fn a_session_that_ended_before_it_was_announced_is_not_ready() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let _ = machine.step(Input::Want, &step(s(1)));
    assert!(machine.awaits(1));
    let ended = Input::Ended { generation: 1, end: End::Failed(Failure::default()) };
    assert_eq!(machine.step(ended, &step(s(1))), None);
    assert!(!machine.awaits(1), "it is over");
}

#[test]
fn nothing_is_started_beside_a_tree_that_does_not_end() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let _ = machine.step(Input::Want, &step(s(1)));
    let _ = machine.step(Input::Force, &step(s(2)));
    assert_eq!(machine.step(Input::Stuck(1), &step(s(12))), None);
    assert_eq!(machine.state(), State::Unkillable);
    for input in [Input::Want, Input::Force, Input::Tick] {
        assert_eq!(machine.step(input, &step(s(9999))), None);
    }
    let ended = Input::Ended { generation: 1, end: End::Asked };
    assert!(machine.step(ended, &step(s(10_000))).is_some(), "gone at last: what was wanted comes");
}

#[test]
fn a_forgotten_session_that_was_of_use_is_opened_again_at_once_and_spends_nothing() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let _ = machine.step(Input::Want, &step(s(1)));
    let _ = machine.step(Input::Ready { generation: 1, connectionless: false }, &step(s(1)));
    let mut useful = step(s(5));
    useful.seen.answered = 1;
    assert_eq!(
        machine.step(Input::SessionGone(1), &useful),
        Some(Effect::Close(Close::SessionGone))
    );
    let ended = |generation| Input::Ended { generation, end: End::Asked };
    assert!(machine.step(ended(1), &useful).is_some());
    assert_eq!(machine.ledger().failures, 0);
    // A server that refuses each session it has just given is treated as any that fails.
    let _ = machine.step(Input::Ready { generation: 2, connectionless: false }, &useful);
    let _ = machine.step(Input::SessionGone(2), &useful);
    assert_eq!(machine.step(ended(2), &useful), None);
    assert_eq!((machine.state(), machine.ledger().failures), (State::Backoff, 1));
}

#[test]
fn a_server_that_names_a_time_is_left_alone_until_then() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let _ = machine.step(Input::Want, &step(s(1)));
    let failure = Failure { retry_after: Some(s(120)), ..Failure::default() };
    let _ = machine.step(Input::Ended { generation: 1, end: End::Failed(failure) }, &step(s(1)));
    assert_eq!(machine.next_attempt(), Some(s(121)));
}

/// `herm test` said that all was well, and calls were refused for four minutes more.
#[test]
fn what_a_person_saw_become_ready_is_no_failure_any_more() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    let lost = |generation| Input::Ended { generation, end: End::Failed(Failure::default()) };
    let mut at = 1;
    while machine.state() != State::Parked(Parked::Failures) {
        if machine.step(Input::Want, &step(s(at))).is_some() {
            let generation = machine.generation();
            assert_eq!(machine.step(lost(generation), &step(s(at))), None);
        }
        at += 30;
    }
    machine.take_notes();
    assert!(matches!(machine.step(Input::Force, &step(s(at))), Some(Effect::Open { .. })));
    let ready = Input::Ready { generation: machine.generation(), connectionless: false };
    assert_eq!(machine.step(ready, &step(s(at))), None);
    assert_eq!(machine.take_notes(), [Event::Proven { at: s(at) }], "all hosts hear of it");
    assert_eq!(machine.ledger().failures, 0);
    // The next loss is the first of another streak, and the next start is proof of nothing.
    let again = machine.step(lost(machine.generation()), &step(s(at + 1)));
    assert_eq!((again, machine.state()), (None, State::Backoff));
    machine.take_notes();
    assert!(matches!(machine.step(Input::Tick, &step(s(at + 9))), Some(Effect::Open { .. })));
    let ready = Input::Ready { generation: machine.generation(), connectionless: false };
    assert_eq!(machine.step(ready, &step(s(at + 9))), None);
    assert_eq!((machine.take_notes(), machine.ledger().failures), (Vec::new(), 1));
}

#[test]
fn a_parked_server_that_was_found_well_elsewhere_is_tried_within_its_allowance() {
    let parked = |ledger: Ledger| {
        let mut machine = Lifecycle::new(policy(), ledger);
        let permanent = Failure { permanent: true, ..Failure::default() };
        assert!(machine.step(Input::Want, &step(s(1))).is_some());
        let end = End::Failed(permanent);
        assert_eq!(machine.step(Input::Ended { generation: 1, end }, &step(s(1))), None);
        machine
    };
    let mut machine = parked(Ledger::default());
    assert!(matches!(machine.step(Input::Proven, &step(s(2))), Some(Effect::Open { .. })));
    assert_eq!(machine.step(Input::Proven, &step(s(3))), None, "one that runs is left alone");
    let spent = f64::from(policy().supervision.allowance);
    let mut machine = parked(Ledger { spent, as_of: s(1), ..Ledger::default() });
    let lost = Ledger { owes: true, ..machine.ledger().clone() };
    assert_eq!(machine.step(Input::Adopt(lost), &step(s(2))), None);
    assert_eq!(machine.step(Input::Proven, &step(s(2))), None);
    assert_eq!(machine.state(), State::Parked(Parked::Allowance));
}

/// Its first call went through, and the next was refused with a cause that was mended.
#[test]
fn a_call_that_was_answered_is_proof_for_a_program_that_ends() {
    let ends = |answered: u64, end: End| {
        let failed = Ledger { failures: 5, probes: 1, ..Ledger::default() };
        let mut machine = Lifecycle::new(policy(), failed);
        assert!(matches!(machine.step(Input::Want, &step(s(9))), Some(Effect::Open { .. })));
        let ready = Input::Ready { generation: 1, connectionless: false };
        assert_eq!(machine.step(ready, &step(s(9))), None);
        let seen = Seen { answered, ..Seen::default() };
        let now = Step { seen, ..step(s(10)) };
        assert_eq!(machine.step(Input::Stop, &now), Some(Effect::Close(Close::Stop)));
        assert_eq!(machine.step(Input::Ended { generation: 1, end }, &now), None);
        assert_eq!(machine.state(), State::Stopped);
        machine.take_notes()
    };
    assert_eq!(ends(1, End::Asked), [Event::Proven { at: s(10) }]);
    assert_eq!(ends(0, End::Asked), [], "ready alone is none");
    // A call before a fall is none either, and the fall is remembered.
    let fell = ends(1, End::Failed(Failure::default()));
    assert!(matches!(fell[..], [Event::Failed { .. }]), "{fell:?}");
}

/// Other programs had failed while it was ready here; their record outlived its proof, and the next
/// host began with it.
#[test]
fn proof_is_said_even_where_nothing_is_known_against_the_server() {
    let mut machine = Lifecycle::new(policy(), Ledger::default());
    assert!(matches!(machine.step(Input::Want, &step(s(1))), Some(Effect::Open { .. })));
    let ready = Input::Ready { generation: 1, connectionless: false };
    assert_eq!(machine.step(ready, &step(s(1))), None);
    let seen = Seen { life: s(90), ..Seen::default() };
    assert_eq!(machine.step(Input::Tick, &Step { seen, ..step(s(91)) }), None);
    assert_eq!(machine.take_notes(), [Event::Proven { at: s(91) }]);
    assert_eq!(machine.step(Input::Tick, &Step { seen, ..step(s(92)) }), None);
    assert_eq!(machine.take_notes(), [], "once a session");
}
