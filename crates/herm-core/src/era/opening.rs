//! The steps of an opening.

use super::{Answer, Failed, Step, Try, Verdict, Wire};
use crate::config::{HttpKind, Protocol, Revision};
use crate::wire::codes;

/// One opening, from first attempt to verdict. Bounded: at most a handful of steps.
#[derive(Debug)]
pub struct Opening {
    protocol: Protocol,
    http: Option<HttpKind>,
    remembered: Option<Verdict>,
    /// The attempt whose answer comes next.
    last: Option<Try>,
    done: Done,
    /// What a refusal said of versions, shown if nothing else comes of the opening.
    mismatch: Option<Failed>,
}

/// What this opening did already, each at most once.
#[derive(Debug, Default)]
struct Done {
    handshake: bool,
    handshake_repeated: bool,
    sse: bool,
    discover: bool,
    discover_repeated: bool,
    respawned: bool,
}

impl Opening {
    /// `stdio` or a URL of this kind, with a remembered verdict if there is one (tried first; when
    /// it fails the opening starts over without it). A verdict that the configuration does not
    /// permit any more is forgotten.
    #[must_use]
    pub fn new(protocol: Protocol, http: Option<HttpKind>, remembered: Option<Verdict>) -> Self {
        let mut opening = Self {
            protocol,
            http,
            remembered: None,
            last: None,
            done: Done::default(),
            mismatch: None,
        };
        opening.remembered = remembered.filter(|verdict| opening.permits(*verdict));
        opening
    }

    /// The first attempt.
    #[must_use]
    pub fn first(&mut self) -> Try {
        let attempt = match self.remembered {
            Some(Verdict { revision, wire }) if revision.is_handshake() => {
                Try::Initialize(wire, revision)
            }
            Some(Verdict { revision, wire }) => Try::Discover(wire, revision),
            None => self.fresh(),
        };
        self.note(attempt)
    }

    /// What follows an answer to the last attempt.
    #[must_use]
    pub fn answered(&mut self, answer: &Answer) -> Step {
        let Some(last) = self.last else { return fail(Failed::Refused) };
        if let Some(verdict) = self.remembered.take()
            && self.disproved(verdict, answer)
        {
            self.done = Done::default();
            let fresh = self.fresh();
            return self.attempt(fresh, true);
        }
        match (last, answer) {
            (_, Answer::Outage | Answer::HttpRefused { status: 408 | 425 | 429 }) => {
                fail(Failed::Outage)
            }
            (Try::Initialize(wire, sent), _) => self.after_initialize(wire, sent, answer),
            (Try::Discover(wire, _), _) => self.after_discover(wire, answer),
        }
    }

    fn after_initialize(&mut self, wire: Wire, sent: Revision, answer: &Answer) -> Step {
        match answer {
            Answer::Opened(named) => self.handshake_named(wire, named),
            Answer::Odd if wire != Wire::Sse => self.discover(),
            Answer::Refused { supported, .. } => self.handshake_refused(wire, supported),
            Answer::HttpRefused { .. } if wire == Wire::Streamable && self.sse_is_left() => {
                self.attempt(Try::Initialize(Wire::Sse, self.handshake()), false)
            }
            Answer::HttpRefused { .. } | Answer::NoEndpoint => self.discover(),
            // The probe before it may have cost the child its life (E-8).
            Answer::Exited if self.done.discover && !self.done.respawned => {
                self.respawn(wire, Try::Initialize(wire, sent))
            }
            Answer::Silence | Answer::Exited | Answer::Outage => fail(Failed::Outage),
            Answer::Odd => self.refused(),
        }
    }

    fn handshake_named(&mut self, wire: Wire, named: &[String]) -> Step {
        match named.first().and_then(|version| version.parse::<Revision>().ok()) {
            Some(revision) if self.speaks(revision) => {
                if revision.is_handshake() {
                    return Step::Open(Verdict { revision, wire });
                }
                self.discover()
            }
            _ => fail(self.nothing_in_common(named)),
        }
    }

    fn handshake_refused(&mut self, wire: Wire, supported: &[String]) -> Step {
        let mutual = self.mutual(supported);
        if let Some(newest) = mutual.iter().copied().find(|r| r.is_handshake())
            && !self.done.handshake_repeated
        {
            self.done.handshake_repeated = true;
            return self.attempt(Try::Initialize(wire, newest), false);
        }
        if mutual.is_empty() && !supported.is_empty() {
            self.mismatch = Some(self.nothing_in_common(supported));
        }
        // Behind an SSE endpoint is no modern server.
        if wire == Wire::Sse { self.refused() } else { self.discover() }
    }

    fn after_discover(&mut self, wire: Wire, answer: &Answer) -> Step {
        match answer {
            Answer::Opened(named) => self.discover_named(wire, named),
            Answer::Refused { code: codes::UNSUPPORTED_VERSION, supported } => {
                self.version_refused(wire, supported)
            }
            // A modern server all the same: a handshake would only hide what it says.
            Answer::Refused {
                code: codes::HEADER_MISMATCH | codes::MISSING_CLIENT_CAPABILITY,
                ..
            } => fail(Failed::Refused),
            Answer::Refused { supported, .. } => {
                let newest = self.mutual(supported).into_iter().find(|r| r.is_handshake());
                self.shake_hands(wire, newest)
            }
            Answer::Odd | Answer::HttpRefused { .. } | Answer::NoEndpoint => {
                self.shake_hands(wire, None)
            }
            Answer::Silence if wire == Wire::Stdio => self.after_no_answer(wire, false),
            Answer::Exited if wire == Wire::Stdio => self.after_no_answer(wire, true),
            Answer::Silence | Answer::Exited | Answer::Outage => fail(Failed::Outage),
        }
    }

    fn discover_named(&mut self, wire: Wire, named: &[String]) -> Step {
        match self.mutual(named).first() {
            Some(&revision) if !revision.is_handshake() => Step::Open(Verdict { revision, wire }),
            Some(&revision) => self.shake_hands(wire, Some(revision)),
            None => fail(self.nothing_in_common(named)),
        }
    }

    /// the version just sent may be among those named, and then it is sent again, once.
    fn version_refused(&mut self, wire: Wire, supported: &[String]) -> Step {
        match self.mutual(supported).first() {
            Some(&revision) if revision.is_handshake() => self.shake_hands(wire, Some(revision)),
            Some(&revision) if !self.done.discover_repeated => {
                self.done.discover_repeated = true;
                self.attempt(Try::Discover(wire, revision), false)
            }
            None if !supported.is_empty() => fail(self.nothing_in_common(supported)),
            _ => fail(Failed::Refused),
        }
    }

    /// A child said nothing to the discovery, or exited on it.
    fn after_no_answer(&mut self, wire: Wire, exited: bool) -> Step {
        match (self.done.handshake, exited) {
            (false, _) if !self.may_shake_hands() => fail(Failed::Outage),
            (false, true) => self.respawn(wire, Try::Initialize(wire, self.handshake())),
            (false, false) => self.shake_hands(wire, None),
            // It may have ended because of the handshake that it refused.
            (true, true) => self.respawn(wire, Try::Discover(wire, Revision::NEWEST_STATELESS)),
            (true, false) => self.refused(),
        }
    }

    /// The handshake after a discovery: once, or once more with a revision that was named.
    fn shake_hands(&mut self, wire: Wire, named: Option<Revision>) -> Step {
        let again = named.is_some() && !self.done.handshake_repeated;
        if !self.may_shake_hands() || (self.done.handshake && !again) {
            return self.refused();
        }
        self.done.handshake_repeated |= self.done.handshake;
        self.attempt(Try::Initialize(wire, named.unwrap_or(self.handshake())), false)
    }

    /// The discovery after a handshake that was refused.
    fn discover(&mut self) -> Step {
        let wire = match self.http {
            Some(HttpKind::Sse) => return self.refused(),
            Some(HttpKind::Auto | HttpKind::Streamable) => Wire::Streamable,
            None => Wire::Stdio,
        };
        if self.protocol != Protocol::Auto || self.done.discover {
            return self.refused();
        }
        self.attempt(Try::Discover(wire, Revision::NEWEST_STATELESS), false)
    }

    fn refused(&mut self) -> Step {
        fail(self.mismatch.take().unwrap_or(Failed::Refused))
    }

    /// The same child again, once in an opening.
    fn respawn(&mut self, wire: Wire, attempt: Try) -> Step {
        if wire != Wire::Stdio {
            return fail(Failed::Outage);
        }
        if std::mem::replace(&mut self.done.respawned, true) {
            return self.refused();
        }
        self.attempt(attempt, true)
    }

    fn attempt(&mut self, attempt: Try, respawn: bool) -> Step {
        Step::Try { attempt: self.note(attempt), respawn }
    }

    fn note(&mut self, attempt: Try) -> Try {
        match attempt {
            Try::Initialize(wire, _) => {
                self.done.handshake = true;
                self.done.sse |= wire == Wire::Sse;
            }
            Try::Discover(..) => self.done.discover = true,
        }
        self.last = Some(attempt);
        attempt
    }

    /// How this opening begins without a verdict.
    fn fresh(&self) -> Try {
        let wire = match self.http {
            None => Wire::Stdio,
            Some(HttpKind::Sse) => Wire::Sse,
            Some(HttpKind::Auto | HttpKind::Streamable) => Wire::Streamable,
        };
        let modern = match self.protocol {
            Protocol::Stateless => wire != Wire::Sse,
            Protocol::Pinned(revision) => !revision.is_handshake(),
            Protocol::Auto | Protocol::Legacy => false,
        };
        if modern {
            Try::Discover(wire, Revision::NEWEST_STATELESS)
        } else {
            Try::Initialize(wire, self.handshake())
        }
    }

    /// True if the answer says that the server is not what was remembered. An outage says nothing,
    /// and a child that fails in the way in which a fresh opening would begin is not tried twice.
    fn disproved(&self, verdict: Verdict, answer: &Answer) -> bool {
        match answer {
            Answer::Opened(_)
            | Answer::Outage
            | Answer::HttpRefused { status: 408 | 425 | 429 } => false,
            Answer::Refused {
                code: codes::HEADER_MISMATCH | codes::MISSING_CLIENT_CAPABILITY,
                ..
            } => verdict.revision.is_handshake(),
            Answer::Refused { supported, .. } => self.mutual(supported).is_empty(),
            Answer::Odd | Answer::HttpRefused { .. } | Answer::NoEndpoint => true,
            Answer::Silence | Answer::Exited => {
                let fresh_shakes_hands = matches!(self.fresh(), Try::Initialize(..));
                verdict.wire == Wire::Stdio && fresh_shakes_hands != verdict.revision.is_handshake()
            }
        }
    }

    /// The revision that a handshake names when the server has named none.
    fn handshake(&self) -> Revision {
        match self.protocol {
            Protocol::Pinned(revision) if revision.is_handshake() => revision,
            _ => Revision::NEWEST_HANDSHAKE,
        }
    }

    fn may_shake_hands(&self) -> bool {
        match self.protocol {
            Protocol::Pinned(revision) => revision.is_handshake(),
            Protocol::Auto | Protocol::Stateless | Protocol::Legacy => true,
        }
    }

    fn sse_is_left(&self) -> bool {
        self.http == Some(HttpKind::Auto) && !self.done.sse
    }

    fn speaks(&self, revision: Revision) -> bool {
        match self.protocol {
            Protocol::Auto | Protocol::Stateless => true,
            Protocol::Legacy => revision.is_handshake(),
            Protocol::Pinned(pinned) => revision == pinned,
        }
    }

    fn permits(&self, verdict: Verdict) -> bool {
        let wire = match self.http {
            None => verdict.wire == Wire::Stdio,
            Some(HttpKind::Auto) => verdict.wire != Wire::Stdio,
            Some(HttpKind::Streamable) => verdict.wire == Wire::Streamable,
            Some(HttpKind::Sse) => verdict.wire == Wire::Sse,
        };
        wire && self.speaks(verdict.revision)
    }

    /// The named revisions that we may speak, newest first.
    fn mutual(&self, named: &[String]) -> Vec<Revision> {
        let theirs = |r: &Revision| named.iter().any(|version| version == r.as_str());
        Revision::ALL.into_iter().rev().filter(|r| self.speaks(*r) && theirs(r)).collect()
    }

    fn nothing_in_common(&self, server: &[String]) -> Failed {
        let ours: Vec<_> =
            Revision::ALL.into_iter().filter(|r| self.speaks(*r)).map(Revision::as_str).collect();
        let server = if server.is_empty() { "none".to_owned() } else { server.join(", ") };
        Failed::NoCommonRevision { server, ours: ours.join(", ") }
    }
}

fn fail(failed: Failed) -> Step {
    Step::Fail(failed)
}

#[cfg(test)]
mod tests;
