//! The restart storm: two servers, 6,212 starts in 63 hours, cannot happen again.

use super::sim::{Server, Sim, policy, s};
use crate::lifecycle::At;
use std::time::Duration;

const HOURS_63: At = s(63 * 3600);

/// All starts of two servers, the second `apart` behind the first.
fn starts(first: &Server, second: &Server, apart: Duration) -> Vec<At> {
    let mut starts = Vec::new();
    for (server, seed, begins) in [(first, 1, Duration::ZERO), (second, 2, apart)] {
        let mut sim = Sim::new(policy(), server.clone(), seed);
        sim.now += begins;
        sim.feed(crate::lifecycle::Input::Want);
        sim.run(HOURS_63);
        starts.append(&mut sim.starts);
    }
    starts.sort_unstable();
    starts
}

fn most_in_a_minute(starts: &[At]) -> usize {
    let within = |from: At| starts.iter().filter(|at| **at >= from && **at < from + s(60)).count();
    starts.iter().map(|at| within(*at)).max().unwrap_or_default()
}

fn calm(name: &str, first: &Server, second: &Server) {
    let starts = starts(first, second, s(19));
    let worst = most_in_a_minute(&starts);
    assert!(starts.len() < 350, "{name}: {} starts", starts.len());
    assert!(worst <= 16, "{name}: {worst} in a minute");
    assert!(starts.len() > 20, "{name}: it was given up");
}

fn lives(seconds: f64) -> Server {
    Server { lives: Some(Duration::from_secs_f64(seconds)), ..Server::default() }
}

fn called(server: &Server) -> Server {
    Server { calls: Some(s(10)), ..server.clone() }
}

#[test]
fn sessions_that_end_silently_after_73_seconds_make_no_storm() {
    calm("silent", &lives(72.5), &lives(73.6));
}

#[test]
fn sessions_that_answer_and_end_after_73_seconds_make_no_storm() {
    calm("answering", &called(&lives(72.5)), &called(&lives(73.6)));
}

#[test]
fn lives_of_19_and_61_seconds_make_no_storm() {
    calm("19 s", &lives(19.0), &lives(19.0));
    calm("61 s", &lives(61.0), &lives(61.0));
    calm("61 s, called", &called(&lives(61.0)), &called(&lives(61.0)));
}

#[test]
fn a_server_that_dies_after_each_good_call_makes_no_storm() {
    let server = Server { calls: Some(Duration::from_millis(500)), ..lives(0.6) };
    calm("one good call", &server, &server);
}

#[test]
fn a_server_dead_after_one_good_call_and_called_no_more_makes_no_storm() {
    let server = Server { called_in: 1, ..called(&lives(11.0)) };
    calm("called once", &server, &server);
}

#[test]
fn a_server_that_dies_at_once_makes_no_storm() {
    calm("at once", &lives(0.0), &lives(0.0));
}

#[test]
fn a_silent_server_that_answers_no_probe_makes_no_storm() {
    let server = Server { answers: false, ..Server::default() };
    calm("no probe", &server, &server);
}
