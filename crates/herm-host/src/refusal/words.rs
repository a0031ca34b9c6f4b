//! How parts of refusals are put into words.

use std::time::Duration;

use herm_core::name::ServerName;

use super::Refusal;
use crate::status::State;

/// A state in which nothing is tried, with its last failure.
pub(super) fn not_now(
    server: &ServerName,
    state: State,
    failures: u32,
    why: Option<&Refusal>,
) -> String {
    let failed = match failures {
        0 => String::new(),
        1 => ", 1 failure".to_owned(),
        n => format!(", {n} failures in a row"),
    };
    let last = why.map(|why| format!(": {}", why.brief())).unwrap_or_default();
    format!("MCP server '{server}' is not connected ({}{failed}){last}", state.as_str())
}

/// Whole seconds, at least one: nobody should ask too early.
pub(super) fn ceil(time: Duration) -> Duration {
    Duration::from_secs(time.as_millis().div_ceil(1000).max(1).try_into().unwrap_or(u64::MAX))
}

/// A time as it is shown: no deadline is ever "0 s".
pub(crate) fn seconds(time: Duration) -> String {
    let millis = time.as_millis();
    match millis {
        0 if !time.is_zero() => "under 1 ms".to_owned(),
        1..100 => format!("{millis} ms"),
        _ if time.subsec_millis() == 0 => format!("{} s", time.as_secs()),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
