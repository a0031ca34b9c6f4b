//! Times as a person reads them.

use jiff::Timestamp;

/// How fresh a list is, and how old if that says something: `live`, or `cached, 3 h old`.
pub(crate) fn age(freshness: &str, listed_at: Option<&str>) -> String {
    match listed_at.and_then(ago) {
        Some(time) if freshness != "live" => format!("{freshness}, {time} old"),
        _ => freshness.to_owned(),
    }
}

fn seconds_to(at: &str) -> Option<i64> {
    let at: Timestamp = at.parse().ok()?;
    Some(at.as_second() - Timestamp::now().as_second())
}

/// How long from now; `None` if it is over.
pub(crate) fn until(at: &str) -> Option<String> {
    seconds_to(at).filter(|seconds| *seconds > 0).map(span)
}

/// How long ago; `None` if nobody knows.
pub(crate) fn ago(at: &str) -> Option<String> {
    seconds_to(at).map(|seconds| span(seconds.min(0).saturating_neg()))
}

fn span(seconds: i64) -> String {
    match seconds {
        ..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
