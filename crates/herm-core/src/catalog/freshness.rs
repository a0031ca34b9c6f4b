//! How far a server's list can be relied on, and when it is worth reading again.

use std::time::Duration;

use crate::lifecycle::{At, Ledger, Policy, Wait};

/// A list of a handshake server without a hint is past its time after so long.
const LEGACY: Duration = Duration::from_secs(24 * 60 * 60);

/// How far a server's list can be relied on.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Freshness {
    /// Listed by the session that runs.
    Live,
    /// Not connected now.
    #[default]
    Cached,
    /// Past its time, or the server is down.
    Stale,
    /// The server is parked.
    Parked,
}

impl Freshness {
    /// The name used in JSON and texts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Cached => "cached",
            Self::Stale => "stale",
            Self::Parked => "parked",
        }
    }
}

/// How the server of a list stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Standing {
    /// Its session runs, and has listed.
    Up,
    /// Not started; a call starts it, or it is on its way.
    Down,
    /// It failed, and waits before another attempt.
    Failed,
    /// Given up for now.
    Parked,
}

impl Standing {
    /// Of a server that does not run here, by what is remembered of its failures.
    #[must_use]
    pub fn remembered(ledger: &Ledger, now: At, policy: &Policy) -> Self {
        match ledger.wait(now, policy) {
            _ if ledger.login => Self::Failed,
            Some(Wait::Parked(_) | Wait::Allowance(_)) => Self::Parked,
            // Its next attempt is due, and nobody has made it.
            _ if ledger.probes > 0 => Self::Parked,
            _ if ledger.failures > 0 => Self::Failed,
            _ => Self::Down,
        }
    }
}

/// Whether the answers may be shared across authorization contexts (C-3). Ours never are; this is kept
/// because the server said it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CacheScope {
    /// Only for who asked. Absent and unknown words are this.
    #[default]
    Private,
    /// For everyone.
    Public,
}

impl CacheScope {
    /// Of the text of `cacheScope`.
    #[must_use]
    pub fn of(text: Option<&str>) -> Self {
        if text == Some("public") { Self::Public } else { Self::Private }
    }

    /// The word of the protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Public => "public",
        }
    }
}

/// What a server says of the life of its lists: of all pages the shortest time and the narrowest scope
/// (C-5). It says when to read again, never that a copy may not be shown (C-6).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Hints {
    /// `ttlMs`, where any page has one; a negative one is 0.
    pub ttl_ms: Option<u64>,
    /// `cacheScope`.
    pub scope: CacheScope,
}

impl Hints {
    /// Those of several pages or lists together; `None` if there are none.
    #[must_use]
    pub fn together(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        parts.into_iter().reduce(|a, b| Self {
            ttl_ms: match (a.ttl_ms, b.ttl_ms) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            scope: if a.scope == b.scope { a.scope } else { CacheScope::Private },
        })
    }

    /// The time after which a kept list is past its time. `None`: it is not by time alone, only by the
    /// next connection, which reads it again anyway.
    #[must_use]
    pub fn lifetime(self, is_modern: bool) -> Option<Duration> {
        match self.ttl_ms {
            Some(ms) => Some(Duration::from_millis(ms)),
            None if is_modern => None,
            None => Some(LEGACY),
        }
    }
}

/// How fresh a list of that `age` is.
#[must_use]
pub fn freshness(standing: Standing, hints: Hints, is_modern: bool, age: Duration) -> Freshness {
    match standing {
        Standing::Up => Freshness::Live,
        Standing::Parked => Freshness::Parked,
        Standing::Failed => Freshness::Stale,
        Standing::Down if hints.lifetime(is_modern).is_some_and(|life| age >= life) => {
            Freshness::Stale
        }
        Standing::Down => Freshness::Cached,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn ttl(ttl_ms: Option<u64>) -> Hints {
        Hints { ttl_ms, ..Hints::default() }
    }

    #[test]
    fn a_hint_says_when_to_read_again_and_its_absence_is_not_zero() {
        let hour = Duration::from_secs(3600);
        for (hints, modern, age, expected) in [
            (ttl(None), true, DAY * 400, Freshness::Cached),
            (ttl(None), false, DAY - hour, Freshness::Cached),
            (ttl(None), false, DAY, Freshness::Stale),
            (ttl(Some(0)), true, Duration::ZERO, Freshness::Stale),
            (ttl(Some(0)), false, Duration::ZERO, Freshness::Stale),
            (ttl(Some(60_000)), true, Duration::from_secs(59), Freshness::Cached),
            (ttl(Some(60_000)), true, Duration::from_secs(60), Freshness::Stale),
        ] {
            let found = freshness(Standing::Down, hints, modern, age);
            assert_eq!(found, expected, "{hints:?} {modern} {age:?}");
        }
    }

    #[test]
    fn what_is_remembered_of_failures_says_how_a_server_stands() {
        let text = "mcp_servers: {s: {command: x, supervision: {allowance: 2}}}";
        let checked = crate::config::check(text.as_bytes(), "config.yaml");
        let policy = Policy::of(checked.config.ready().next().expect("it is right"), false);
        let now = At::from_secs(1_000);
        let of = |ledger: Ledger| Standing::remembered(&ledger, now, &policy);
        let failed = Ledger { failures: 1, next: Some(now * 2), ..Ledger::default() };
        let parked = Ledger { probes: 1, ..failed.clone() };
        assert_eq!(of(Ledger::default()), Standing::Down);
        assert_eq!(of(failed.clone()), Standing::Failed);
        assert_eq!(of(Ledger { next: Some(now / 2), ..failed }), Standing::Failed);
        assert_eq!(of(parked.clone()), Standing::Parked);
        assert_eq!(of(Ledger { next: Some(now / 2), ..parked.clone() }), Standing::Parked);
        assert_eq!(of(Ledger { login: true, ..parked }), Standing::Failed, "as in a host");
        let broke = Ledger { owes: true, spent: 2.0, as_of: now, ..Ledger::default() };
        assert_eq!(of(broke), Standing::Parked, "its allowance is spent");
    }

    #[test]
    fn what_is_known_of_the_server_comes_first() {
        let of = |standing| freshness(standing, ttl(Some(0)), true, DAY);
        assert_eq!(of(Standing::Up), Freshness::Live);
        assert_eq!(of(Standing::Parked), Freshness::Parked);
        assert_eq!(of(Standing::Failed), Freshness::Stale);
        let fresh = freshness(Standing::Failed, ttl(None), true, Duration::ZERO);
        assert_eq!(fresh, Freshness::Stale, "the server is down");
    }

    #[test]
    fn pages_have_the_shortest_life_and_the_narrowest_scope() {
        let public = |ttl_ms| Hints { ttl_ms, scope: CacheScope::Public };
        let all = Hints::together([public(Some(9)), public(None), public(Some(5))]);
        assert_eq!(all, Some(public(Some(5))));
        let mixed = Hints::together([public(Some(9)), ttl(Some(7))]);
        assert_eq!(mixed, Some(ttl(Some(7))), "one private page makes the list private");
        assert_eq!(Hints::together([]), None);
        assert_eq!(CacheScope::of(None), CacheScope::Private);
        assert_eq!(CacheScope::of(Some("shared")), CacheScope::Private, "unknown is refused");
    }
}
