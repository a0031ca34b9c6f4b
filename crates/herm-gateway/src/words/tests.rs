use std::time::{Duration, SystemTime};

use herm_host::{
    BreakerState, Cause, Counters, Deadline, Freshness, LinkError, Phase, Refusal, ServerStatus,
    Skipped, State,
};

use super::{result, too_many};

fn status(state: State, wait: Option<u64>) -> ServerStatus {
    ServerStatus {
        name: "fs".parse().unwrap(),
        fingerprint: None,
        state,
        reason: None,
        since: SystemTime::UNIX_EPOCH,
        next_attempt: wait.map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s)),
        generation: 3,
        breaker: BreakerState::Closed,
        revision: None,
        tools: 2,
        freshness: Freshness::Cached,
        not_kept: None,
        in_flight: 0,
        last_call: None,
        pid: None,
        rss_bytes: None,
        counters: Counters { starts: 3, losses: 1, timeouts: 2, late_answers: 0 },
        skipped: Skipped::default(),
    }
}

/// Every kind of refusal as a model reads it.
#[test]
fn a_model_is_told_whether_and_when_to_retry() {
    let server = || "fs".parse().unwrap();
    let gone = || Refusal::Unavailable {
        server: server(),
        phase: Phase::Open,
        cause: Cause::Link(LinkError::Exited {
            code: Some(1),
            signal: None,
            stderr: String::new(),
        }),
        retry_after: None,
    };
    let backoff = status(State::Backoff, Some(12));
    let not_now = |state, wait| Refusal::NotNow {
        server: server(),
        state,
        failures: 5,
        retry_after: Some(Duration::from_secs(wait)),
        why: Some(Box::new(gone())),
    };
    let open = Refusal::BreakerOpen {
        server: server(),
        failures: 3,
        retry_after: Duration::from_millis(59_200),
    };
    let cases: [(Refusal, Option<&ServerStatus>); 12] = [
        (open, None),
        (gone(), Some(&backoff)),
        (not_now(State::Backoff, 4), None),
        (not_now(State::Parked, 300), None),
        (not_now(State::NeedsLogin, 300), None),
        (gone(), None),
        (Refusal::Busy { server: server(), running: 16, queued: 256 }, None),
        (Refusal::LoginNeeded { server: server(), status: 401, body: "x".to_owned() }, None),
        (Refusal::SafeMode { server: server() }, None),
        (Refusal::OutcomeUnknown { server: server(), cause: Cause::Stopped }, None),
        (
            Refusal::TimedOut {
                server: server(),
                deadline: Deadline::CallIdle,
                after: Duration::from_secs(5),
            },
            None,
        ),
        (Refusal::Protocol { server: server(), why: "\u{1b}[31mred".to_owned() }, None),
    ];
    let told: Vec<String> = cases
        .iter()
        .map(|(refusal, status)| result(refusal, *status, SystemTime::UNIX_EPOCH).unwrap())
        .chain([too_many(256).unwrap()])
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}
