//! The wedge, the black-out, the slow tool: one rebuild where one is due, none elsewhere.

use std::time::Duration;

use super::sim::{Server, Sim, policy, s};
use crate::lifecycle::{Close, Gate, Input, Probe, State};

fn ready(server: Server) -> Sim {
    let mut sim = Sim::new(policy(), server, 7);
    sim.feed(Input::Want);
    sim.run(s(5));
    assert!(sim.is_ready());
    sim
}

fn strike(sim: &mut Sim, since: u64) {
    let generation = sim.machine.generation();
    sim.feed(Input::Strike { generation, since: s(since), lost: false });
}

/// 40 hours of dead tools: the server answered `initialize` and `ping`, and never its list. The
/// machine never calls that ready, and each attempt ends with the list's deadline.
#[test]
fn a_server_that_opens_and_never_lists_is_rebuilt_and_never_ready() {
    let server = Server { wedged_from: 2, lives: Some(s(100)), ..Server::default() };
    let mut sim = Sim::new(policy(), server, 3);
    sim.feed(Input::Want);
    sim.run(s(100));
    assert!(sim.is_ready(), "the first session works");
    sim.run(s(40 * 3600));
    assert!(!sim.is_ready());
    assert!(sim.starts.len() > 20, "it is tried on and on");
    assert!(sim.starts.len() < 100, "{} starts", sim.starts.len());
    assert!(matches!(sim.machine.state(), State::Parked(_) | State::Connecting));
    // The server is mended: it comes back by itself.
    sim.mend();
    sim.run(s(41 * 3600));
    assert!(sim.is_ready());
}

#[test]
fn three_time_outs_make_exactly_one_rebuild() {
    let mut sim = ready(Server::default());
    for call in 1..=2 {
        strike(&mut sim, call);
        assert!(sim.is_ready(), "a call's time-out is no transport's death");
    }
    strike(&mut sim, 3);
    assert_eq!(sim.closes, [Close::Breaker]);
    assert!(matches!(sim.machine.breaker().gate(), Gate::Open { .. }));
    // Calls of the old session that end late change nothing.
    strike(&mut sim, 3);
    sim.run(s(10));
    assert!(sim.is_ready(), "rebuilt");
    assert_eq!(sim.starts.len(), 2);
    assert_eq!(sim.machine.breaker().gate(), Gate::HalfOpen, "at once, not after the cool-down");
    sim.feed(Input::TrialAnswered);
    assert!(sim.machine.breaker().gate().is_closed());
    assert_eq!(sim.closes, [Close::Breaker]);
}

#[test]
fn a_failed_trial_opens_the_breaker_again() {
    let mut sim = ready(Server::default());
    for call in 1..=3 {
        strike(&mut sim, call);
    }
    sim.run(s(10));
    strike(&mut sim, 9);
    assert!(matches!(sim.machine.breaker().gate(), Gate::Open { .. }));
    assert_eq!(sim.closes.len(), 2, "one rebuild a cycle");
}

#[test]
fn slow_calls_beside_answered_ones_make_no_rebuild() {
    let mut sim = ready(Server::default());
    sim.seen.answered = 40;
    sim.seen.answered_at = s(5);
    for _ in 0..16 {
        strike(&mut sim, 3); // sent before the last answer to another call
    }
    assert!(sim.is_ready());
    assert_eq!(sim.closes, []);
}

#[test]
fn an_answered_call_between_failures_breaks_the_row() {
    let mut sim = ready(Server::default());
    for call in 1..=9 {
        sim.now += s(10);
        sim.seen.answered += 1;
        sim.seen.answered_at = sim.now;
        sim.now += s(10);
        let generation = sim.machine.generation();
        sim.feed(Input::Strike { generation, since: sim.now - s(5), lost: false });
        assert_eq!(sim.machine.breaker().strikes(), 1, "after {call} calls");
    }
    assert_eq!(sim.closes, []);
}

#[test]
fn a_lost_session_is_one_strike_however_many_calls_it_takes() {
    let mut sim = ready(Server::default());
    let generation = sim.machine.generation();
    for _ in 0..16 {
        sim.feed(Input::Strike { generation, since: s(3), lost: true });
    }
    assert!(sim.machine.breaker().gate().is_closed());
}

#[test]
fn a_list_that_is_never_answered_after_a_change_makes_one_rebuild() {
    let mut sim = ready(Server::default());
    let generation = sim.machine.generation();
    sim.feed(Input::RefreshFailed(generation));
    sim.feed(Input::RefreshFailed(generation));
    assert_eq!(sim.closes, [Close::Refresh]);
    sim.run(s(10));
    assert!(sim.is_ready());
    assert_eq!(sim.starts.len(), 2);
}

#[test]
fn an_hour_of_sleep_is_no_failure() {
    let mut sim = ready(Server { answers: false, ..Server::default() });
    sim.now += s(3600);
    sim.feed(Input::Resumed);
    sim.end_now();
    assert_eq!(sim.machine.ledger().failures, 0);
    sim.run(sim.now + s(2));
    assert!(sim.is_ready(), "back at once");
}

#[test]
fn after_a_sleep_idle_servers_are_probed_soon_and_not_all_at_once() {
    let mut first = Vec::new();
    for seed in 0..10 {
        let mut sim = Sim::new(policy(), Server::default(), seed);
        sim.feed(Input::Want);
        sim.run(s(5));
        sim.now += s(3600);
        sim.seen.life = s(5);
        sim.feed(Input::Resumed);
        sim.feed(Input::Tick);
        assert_eq!(sim.probes, [], "not in the moment of waking");
        let due = sim.machine.deadline(&sim.seen);
        assert!(due.is_some_and(|due| due <= sim.now + s(5)), "{due:?}");
        first.push(due);
    }
    first.dedup();
    assert!(first.len() > 5, "spread");
}

#[test]
fn silence_to_both_kinds_of_probe_ends_the_session() {
    let mut sim = ready(Server { answers: false, ..Server::default() });
    sim.run(s(5 + 180 + 62));
    assert_eq!(sim.probes[..2], [Probe::Ping, Probe::List]);
    assert_eq!(sim.closes, [Close::Silent]);
}

#[test]
fn a_server_that_is_busy_is_not_probed() {
    let mut sim = ready(Server { answers: false, ..Server::default() });
    sim.seen.pending = 1;
    sim.run(s(1200));
    assert_eq!(sim.probes, []);
    assert!(sim.is_ready());
}

#[test]
fn the_first_blip_does_not_change_how_the_sixth_is_treated() {
    let server = Server { lives: Some(s(61)), calls: Some(s(30)), ..Server::default() };
    let mut sim = Sim::new(policy(), server, 5);
    sim.feed(Input::Want);
    sim.run(s(6 * 64));
    let gaps: Vec<Duration> = sim.starts.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.len() >= 5);
    assert!(gaps.iter().all(|gap| *gap < s(63)), "{gaps:?}");
}
