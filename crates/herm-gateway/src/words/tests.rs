use std::time::{Duration, SystemTime};

use herm_host::{
    BreakerState, Cause, Counters, Deadline, Freshness, LinkError, Phase, Refusal, ServerStatus,
    Skipped, State,
};

use super::{result, too_many};

fn status(state: State, breaker: BreakerState, wait: Option<u64>) -> ServerStatus {
    ServerStatus {
        name: "fs".parse().unwrap(),
        state,
        reason: None,
        since: SystemTime::UNIX_EPOCH,
        next_attempt: wait.map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s)),
        generation: 3,
        breaker,
        revision: None,
        tools: 2,
        freshness: Freshness::Cached,
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
    let backoff = status(State::Backoff, BreakerState::Closed, Some(12));
    let parked = status(State::Parked, BreakerState::Closed, Some(300));
    let open = status(State::Ready, BreakerState::Open, Some(60));
    let cases: [(Refusal, Option<&ServerStatus>); 10] = [
        (gone(), Some(&open)),
        (gone(), Some(&backoff)),
        (gone(), Some(&parked)),
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
