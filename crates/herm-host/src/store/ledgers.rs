//! Failures, allowance and next attempt of each server, for all hosts of one state folder.
//!
//! A hundred calls in a row, or five hosts, start a dead server no oftener than one host would: each
//! attempt is claimed here under a lock before it begins.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herm_core::config::{Server, Target, authorization, fingerprint};
use herm_core::lifecycle::{At, Event, Ledger, Policy};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::atomic::{Atomic, Stamp};
use crate::clock::Clock;

/// More of an allowance was never spent; a number beyond it is no word of ours.
const SPENT: f64 = 10_000.0;
/// Entries kept; the oldest go first.
const MAX: usize = 1_000;

/// `supervision.json`, or nothing for a host that keeps nothing.
#[derive(Debug)]
pub(crate) struct Ledgers {
    file: Option<Atomic>,
    clock: Clock,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Content {
    v: u32,
    /// Random, so that the fingerprints say nothing of the values in them.
    #[serde(default)]
    salt: String,
    servers: BTreeMap<String, Kept>,
    /// Servers that were seen well after a failure, or by a person's test.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    proven: BTreeMap<String, Proof>,
}

/// When a server was seen well, for hosts that know of a failure which nobody else was told of.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Proof {
    fingerprint: String,
    at: Timestamp,
}

impl Content {
    fn key(&self, entry: &Entry) -> String {
        let values = entry.target.as_ref().map(|target| authorization(target, &self.salt));
        format!("{}-{}", fingerprint(&entry.server), values.as_deref().unwrap_or("unresolved"))
    }

    fn prove(&mut self, entry: &Entry, at: Timestamp) {
        let proof = Proof { fingerprint: self.key(entry), at };
        self.proven.insert(entry.server.name.as_str().to_owned(), proof);
        while self.proven.len() > MAX {
            let oldest = self.proven.iter().min_by_key(|(_, proof)| proof.at);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else { break };
            self.proven.remove(&name);
        }
    }
}

/// A server, and what its entry comes to with the variables as they are.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// As configured.
    pub(crate) server: Arc<Server>,
    /// Absent: a variable has no value.
    pub(crate) target: Option<Target>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Kept {
    /// Of the entry that it was, and of its values; an edited entry, and another value of one of its
    /// variables, begin anew.
    fingerprint: String,
    failures: u32,
    probes: u32,
    next_attempt_at: Option<Timestamp>,
    forwarded_at: Option<Timestamp>,
    spent: f64,
    as_of: Timestamp,
    owes: bool,
    /// The last failure was that it wants a login.
    #[serde(default)]
    login: bool,
    /// When it was.
    #[serde(default)]
    failed_at: Option<Timestamp>,
    /// The last failure, redacted.
    why: Option<String>,
}

/// What is remembered of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Its ledger.
    pub(crate) ledger: Ledger,
    /// Its last failure, as text.
    pub(crate) why: Option<String>,
}

/// What is found when one looks again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// This.
    Known(Ledger),
    /// It was seen well at this time.
    Proven(At),
    /// The file is gone: a person wants all to begin anew.
    Gone,
    /// Nothing of this entry: what ails it here may be no other program's matter.
    Nothing,
}

impl Ledgers {
    pub(crate) fn load(state: Option<&Path>, clock: Clock) -> Self {
        Self { file: state.map(|state| Atomic::new(state, "supervision.json")), clock }
    }

    /// True if anything is kept.
    pub(crate) fn are_kept(&self) -> bool {
        self.file.is_some()
    }

    /// What tells the file from what it was: two system calls.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.file.as_ref()?.stamp()
    }

    /// What is remembered of each of these servers; blocks for the reading of a small file.
    pub(crate) fn look_up(&self, entries: &[Entry]) -> Vec<Found> {
        let Some(file) = &self.file else { return vec![Found::Nothing; entries.len()] };
        if file.stamp().is_none() {
            return vec![Found::Gone; entries.len()];
        }
        let content: Content = file.content();
        let of = |entry: &Entry| {
            if let Some(known) = self.known(&content, entry) {
                return Found::Known(known.ledger);
            }
            let proof = content.proven.get(entry.server.name.as_str());
            match proof.filter(|proof| proof.fingerprint == content.key(entry)) {
                Some(proof) => Found::Proven(self.at(proof.at)),
                None => Found::Nothing,
            }
        };
        entries.iter().map(of).collect()
    }

    /// What is remembered of a server; blocks for the reading of a small file.
    pub(crate) fn recall(&self, entry: &Entry) -> Option<Known> {
        let content: Content = self.file.as_ref()?.content();
        self.known(&content, entry)
    }

    /// Claims an attempt. `Err`: it has to wait, and that is what all hosts together know. Blocks.
    pub(crate) fn claim(
        &self,
        entry: &Entry,
        policy: &Policy,
        forward: bool,
        free: bool,
    ) -> Result<(), Known> {
        let Some(file) = &self.file else { return Ok(()) };
        // Nearly always there is nothing, and that needs no lock.
        if self.recall(entry).is_none() {
            return Ok(());
        }
        let now = self.clock.now();
        let started = Event::Started { at: now, dice: fastrand::f64(), forward, free };
        let mut denied = None;
        let written = file.change(|content: &mut Content| {
            let Some(mut known) = self.known(content, entry) else { return false };
            let waits = known.ledger.wait(now, policy).is_some();
            let may = free || forward && known.ledger.may_forward(now, policy);
            if waits && !may {
                denied = Some(known);
                return false;
            }
            known.ledger.note(&started, policy);
            self.keep(content, entry, policy, &known);
            true
        });
        if let Err(error) = written {
            // This host's own machine still holds back.
            tracing::warn!(%error, "an attempt could not be claimed");
        }
        denied.map_or(Ok(()), Err)
    }

    /// Notes what happened; gives what all hosts together know. `forced`: a person started it, and what
    /// comes of that is told to hosts that know of a failure which is not kept here. Blocks.
    pub(crate) fn note(
        &self,
        entry: &Entry,
        policy: &Policy,
        (events, why): (&[Event], Option<&str>),
        forced: bool,
    ) -> Option<Ledger> {
        let file = self.file.as_ref()?;
        let proven = |event: &Event| matches!(event, Event::Proven { .. });
        if events.iter().all(proven) && !forced && self.recall(entry).is_none() {
            return None;
        }
        let mut merged = None;
        let written = file.change(|content: &mut Content| {
            let mut known = self.known(content, entry).unwrap_or_default();
            for event in events {
                known.ledger.note(event, policy);
                if let Event::Failed { .. } = event {
                    known.why = why.map(str::to_owned);
                }
            }
            self.keep(content, entry, policy, &known);
            if events.last().is_some_and(proven) {
                content.prove(entry, timestamp(SystemTime::now()));
            }
            merged = Some(known.ledger);
            true
        });
        if let Err(error) = written {
            tracing::warn!(%error, "the failures of a server could not be kept");
        }
        merged
    }

    fn known(&self, content: &Content, entry: &Entry) -> Option<Known> {
        let kept = content.servers.get(entry.server.name.as_str())?;
        if kept.fingerprint != content.key(entry) {
            return None;
        }
        let at = |time: Timestamp| self.at(time);
        let ledger = Ledger {
            failures: kept.failures,
            probes: kept.probes,
            next: kept.next_attempt_at.map(at),
            forwarded: kept.forwarded_at.map(at),
            spent: kept.spent.clamp(0.0, SPENT),
            as_of: at(kept.as_of),
            owes: kept.owes,
            login: kept.login,
            failed: kept.failed_at.map(at),
        };
        Some(Known { ledger, why: kept.why.clone() })
    }

    fn at(&self, time: Timestamp) -> At {
        self.clock.of_wall(SystemTime::UNIX_EPOCH + since_epoch(time))
    }

    fn keep(&self, content: &mut Content, entry: &Entry, policy: &Policy, known: &Known) {
        content.v = 1;
        if content.salt.is_empty() {
            content.salt = format!("{:016x}", fastrand::u64(..));
        }
        let name = entry.server.name.as_str().to_owned();
        let ledger = &known.ledger;
        if ledger.is_clean(self.clock.now(), policy) {
            content.servers.remove(&name);
            return;
        }
        let time = |at: At| timestamp(self.clock.wall(at));
        let kept = Kept {
            fingerprint: content.key(entry),
            failures: ledger.failures,
            probes: ledger.probes,
            next_attempt_at: ledger.next.map(time),
            forwarded_at: ledger.forwarded.map(time),
            spent: ledger.spent,
            as_of: time(ledger.as_of),
            owes: ledger.owes,
            login: ledger.login,
            failed_at: ledger.failed.map(time),
            why: known.why.clone(),
        };
        content.servers.insert(name, kept);
        while content.servers.len() > MAX {
            let oldest = content.servers.iter().min_by_key(|(_, kept)| kept.as_of);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else { break };
            content.servers.remove(&name);
        }
    }
}

fn since_epoch(time: Timestamp) -> Duration {
    Duration::from_millis(time.as_millisecond().try_into().unwrap_or_default())
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use herm_core::config::{Server, Stdio, StdioTarget, Target, Transport};
    use herm_core::lifecycle::{At, Event, Policy, Wait};

    use std::sync::Arc;

    use super::{Entry, Found, Ledgers};
    use crate::clock::Clock;

    fn server(command: &str) -> Entry {
        let command = herm_core::config::Template(command.to_owned());
        let stdio = Stdio { command, ..Stdio::default() };
        let server = Server::new("dying".parse().unwrap(), Transport::Stdio(stdio));
        Entry { server: Arc::new(server), target: None }
    }

    fn failed(clock: Clock) -> Event {
        since(clock, clock.now())
    }

    fn since(clock: Clock, began: At) -> Event {
        Event::Failed {
            at: clock.now(),
            began,
            dice: 0.0,
            permanent: false,
            login: false,
            opened: false,
            answering: std::time::Duration::ZERO,
            not_before: None,
        }
    }

    #[test]
    fn five_hosts_start_a_dead_server_no_oftener_than_one() {
        let state = tempfile::tempdir().unwrap();
        let clock = Clock::start();
        let hosts: Vec<Ledgers> =
            (0..5).map(|_| Ledgers::load(Some(state.path()), clock)).collect();
        let (server, policy) = (server("no"), Policy::of(&server("no").server, true));
        hosts[0].claim(&server, &policy, false, false).unwrap();
        let why = Some("it ended with exit code 3");
        hosts[0].note(&server, &policy, (&[failed(clock)], why), false);
        for host in &hosts {
            let known = host.claim(&server, &policy, false, false).unwrap_err();
            assert!(matches!(known.ledger.wait(clock.now(), &policy), Some(Wait::Backoff(_))));
            assert_eq!(known.why.as_deref(), Some("it ended with exit code 3"));
        }
        // A person's attempt is let through, and the others see it.
        hosts[3].claim(&server, &policy, false, true).unwrap();
        let known = hosts[4].claim(&server, &policy, false, false).unwrap_err();
        assert!(known.ledger.next > Some(clock.now() + std::time::Duration::from_millis(1500)));
        // Proof clears it for all.
        hosts[3].note(&server, &policy, (&[Event::Proven { at: clock.now() }], None), false);
        hosts[1].claim(&server, &policy, false, false).unwrap();
        assert!(matches!(hosts[1].look_up(&[server])[..], [Found::Proven(_)]));
    }

    /// Each change of the file by a neighbour started a server anew whose failure was its host's alone.
    #[test]
    fn a_failure_that_is_not_kept_is_over_by_its_own_proof_and_by_no_neighbours_word() {
        let state = tempfile::tempdir().unwrap();
        let clock = Clock::start();
        let ledgers = Ledgers::load(Some(state.path()), clock);
        let (ours, policy) = (server("absent"), Policy::of(&server("absent").server, true));
        let found = || ledgers.look_up(std::slice::from_ref(&ours));
        assert_eq!(found(), [Found::Gone], "nothing was ever written");
        let neighbour = Server::new("b".parse().unwrap(), server("b").server.transport.clone());
        let neighbour = Entry { server: Arc::new(neighbour), target: None };
        ledgers.note(&neighbour, &policy, (&[failed(clock)], None), false);
        assert_eq!(found(), [Found::Nothing]);
        let proven = [Event::Proven { at: clock.now() }];
        assert_eq!(ledgers.note(&ours, &policy, (&proven, None), false), None);
        assert_eq!(found(), [Found::Nothing], "a host that went well wherever it ran is no proof");
        ledgers.note(&ours, &policy, (&proven, None), true);
        assert!(matches!(found()[..], [Found::Proven(_)]));
        let edited = ledgers.look_up(&[server("another")]);
        assert_eq!(edited, [Found::Nothing], "of another entry");
    }

    #[test]
    fn numbers_that_nobody_wrote_end_no_supervisor() {
        let state = tempfile::tempdir().unwrap();
        let clock = Clock::start();
        let (server, policy) = (server("no"), Policy::of(&server("no").server, true));
        for spent in ["1e300", "-1e300", "0.5"] {
            let kept = format!(
                r#"{{"v":1,"servers":{{"dying":{{"fingerprint":"{}-unresolved","failures":4294967295,
                "probes":4294967295,"next_attempt_at":"9999-12-30T00:00:00Z","forwarded_at":null,
                "spent":{spent},"as_of":"9999-12-30T00:00:00Z","failed_at":"9999-12-30T00:00:00Z","owes":true,"why":null}}}}}}"#,
                herm_core::config::fingerprint(&server.server),
            );
            std::fs::write(state.path().join("supervision.json"), kept).unwrap();
            let ledgers = Ledgers::load(Some(state.path()), clock);
            let known = ledgers.claim(&server, &policy, true, false).unwrap_err();
            assert!(known.ledger.wait(clock.now(), &policy).is_some(), "{spent}");
            let merged = ledgers.note(&server, &policy, (&[failed(clock)], None), false).unwrap();
            assert_eq!(merged.failures, u32::MAX, "{spent}");
            ledgers.claim(&server, &policy, false, true).unwrap();
        }
    }

    #[test]
    fn an_edited_entry_begins_anew() {
        let state = tempfile::tempdir().unwrap();
        let clock = Clock::start();
        let ledgers = Ledgers::load(Some(state.path()), clock);
        let policy = Policy::of(&server("no").server, true);
        ledgers.note(&server("no"), &policy, (&[failed(clock)], None), false);
        ledgers.claim(&server("no"), &policy, false, false).unwrap_err();
        ledgers.claim(&server("yes"), &policy, false, false).unwrap();
    }

    /// The token was mended, and the old refusal was told for five minutes more.
    #[test]
    fn another_value_of_a_variable_begins_anew() {
        let state = tempfile::tempdir().unwrap();
        let clock = Clock::start();
        let ledgers = Ledgers::load(Some(state.path()), clock);
        let entry = |token: &str| {
            let env = [("TOKEN".to_owned(), token.to_owned().into())].into();
            let target = Some(Target::Stdio(StdioTarget { env, ..StdioTarget::default() }));
            Entry { target, ..server("no") }
        };
        let policy = Policy::of(&server("no").server, true);
        ledgers.note(&entry("bad"), &policy, (&[failed(clock)], None), false);
        ledgers.claim(&entry("bad"), &policy, false, false).unwrap_err();
        ledgers.claim(&entry("good"), &policy, false, false).unwrap();
        ledgers.claim(&server("no"), &policy, false, false).unwrap();
        let text = std::fs::read_to_string(state.path().join("supervision.json")).unwrap();
        assert!(!text.contains("bad"), "{text}");
    }
    /// Fifteen hosts that started at once left a server alone for half an hour after one fault.
    #[test]
    fn attempts_that_failed_side_by_side_are_one_failure() {
        let state = tempfile::tempdir().unwrap();
        let clock = Clock::start();
        let (entry, policy) = (server("no"), Policy::of(&server("no").server, true));
        // The file has milliseconds.
        let began = clock.now() - std::time::Duration::from_millis(20);
        let hosts: Vec<Ledgers> =
            (0..5).map(|_| Ledgers::load(Some(state.path()), clock)).collect();
        for host in &hosts {
            host.claim(&entry, &policy, false, false).unwrap();
        }
        for host in &hosts {
            host.note(&entry, &policy, (&[since(clock, began)], None), false);
        }
        let known = hosts[0].recall(&entry).unwrap();
        assert_eq!(known.ledger.failures, 1, "{known:?}");
    }
}
