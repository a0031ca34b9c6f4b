use std::fmt::Write as _;

use super::*;

const STDIO: Option<HttpKind> = None;
const AUTO_URL: Option<HttpKind> = Some(HttpKind::Auto);

fn named(versions: &[&str]) -> Vec<String> {
    versions.iter().map(|&v| v.to_owned()).collect()
}

fn opened(versions: &[&str]) -> Answer {
    Answer::Opened(named(versions))
}

fn refused(code: i64, supported: &[&str]) -> Answer {
    Answer::Refused { code, supported: named(supported) }
}

fn http(status: u16) -> Answer {
    Answer::HttpRefused { status }
}

/// One opening on a line: each attempt, `*` if respawned, and how it ended.
fn walk(mut opening: Opening, answers: &[Answer]) -> String {
    let mut story = show(opening.first());
    let mut answers = answers.iter();
    loop {
        let Some(answer) = answers.next() else { return story + " > ?" };
        match opening.answered(answer) {
            Step::Try { attempt, respawn } => {
                let star = if respawn { "*" } else { "" };
                write!(story, " > {star}{}", show(attempt)).unwrap();
            }
            end => {
                assert_eq!(answers.len(), 0, "answers are left over after {story}");
                return match end {
                    Step::Open(verdict) => {
                        format!("{story} > open {} {:?}", verdict.revision, verdict.wire)
                    }
                    Step::Fail(failed) => format!("{story} > {failed}"),
                    Step::Try { .. } => unreachable!(),
                };
            }
        }
    }
}

fn show(attempt: Try) -> String {
    match attempt {
        Try::Initialize(wire, revision) => format!("init {wire:?} {revision}"),
        Try::Discover(wire, revision) => format!("discover {wire:?} {revision}"),
    }
}

fn table(rows: &[(Protocol, Option<HttpKind>, &[Answer])]) -> String {
    rows.iter()
        .map(|(protocol, http, answers)| {
            walk(Opening::new(protocol.clone(), *http, None), answers) + "\n"
        })
        .collect()
}

#[test]
fn auto_on_stdio() {
    use Protocol::Auto;
    insta::assert_snapshot!(table(&[
        (Auto, STDIO, &[opened(&["2025-11-25"])]),
        (Auto, STDIO, &[opened(&["2024-11-05"])]),
        (Auto, STDIO, &[opened(&["2099-01-01"])]),
        (Auto, STDIO, &[opened(&["2026-07-28"]), refused(-32601, &[])]),
        (Auto, STDIO, &[refused(-32601, &[]), opened(&["2026-07-28", "2025-11-25"])]),
        (Auto, STDIO, &[refused(-32601, &[]), refused(-32601, &[])]),
        (Auto, STDIO, &[refused(-32022, &["2026-07-28"]), opened(&["2026-07-28"])]),
        (Auto, STDIO, &[refused(-32602, &["2024-11-05", "2025-06-18"]), opened(&["2025-06-18"])]),
        (Auto, STDIO, &[refused(0, &["2025-06-18"]), refused(0, &["2025-06-18"]), refused(-32601, &[])]),
        (Auto, STDIO, &[refused(-32602, &["2099-01-01"]), refused(-32601, &[])]),
        (Auto, STDIO, &[refused(-32601, &[]), opened(&["2025-06-18"]), opened(&["2025-06-18"])]),
        (Auto, STDIO, &[refused(-32601, &[]), Answer::Exited, opened(&["2026-07-28"])]),
        (Auto, STDIO, &[refused(-32601, &[]), Answer::Exited, Answer::Exited]),
        (Auto, STDIO, &[refused(-32601, &[]), Answer::Silence]),
        (Auto, STDIO, &[Answer::Odd, opened(&["2026-07-28"])]),
        (Auto, STDIO, &[Answer::Silence]),
        (Auto, STDIO, &[Answer::Exited]),
        (Auto, STDIO, &[Answer::Outage]),
    ]), @r"
    init Stdio 2025-11-25 > open 2025-11-25 Stdio
    init Stdio 2025-11-25 > open 2024-11-05 Stdio
    init Stdio 2025-11-25 > no protocol revision in common: the server speaks 2099-01-01, herm speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    init Stdio 2025-11-25 > init Stdio 2025-06-18 > open 2025-06-18 Stdio
    init Stdio 2025-11-25 > init Stdio 2025-06-18 > discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > no protocol revision in common: the server speaks 2099-01-01, herm speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > init Stdio 2025-06-18 > open 2025-06-18 Stdio
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > *discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > *discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    init Stdio 2025-11-25 > discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    init Stdio 2025-11-25 > the server could not be reached
    init Stdio 2025-11-25 > the server could not be reached
    init Stdio 2025-11-25 > the server could not be reached
    ");
}

#[test]
fn auto_on_a_url() {
    use Protocol::{Auto, Legacy};
    let streamable = Some(HttpKind::Streamable);
    let sse = Some(HttpKind::Sse);
    insta::assert_snapshot!(table(&[
        (Auto, AUTO_URL, &[opened(&["2025-06-18"])]),
        (Auto, AUTO_URL, &[http(404), opened(&["2024-11-05"])]),
        (Auto, AUTO_URL, &[http(400), Answer::NoEndpoint, opened(&["2026-07-28"])]),
        (Auto, AUTO_URL, &[http(405), http(405), refused(-32601, &[])]),
        (Auto, AUTO_URL, &[http(404), refused(-32602, &["2024-11-05"]), opened(&["2024-11-05"])]),
        (Auto, AUTO_URL, &[http(404), refused(-32602, &[])]),
        (Auto, AUTO_URL, &[refused(-32020, &[]), opened(&["2026-07-28"])]),
        (Auto, AUTO_URL, &[refused(-32601, &[]), http(404)]),
        (Auto, AUTO_URL, &[http(429)]),
        (Auto, AUTO_URL, &[Answer::Silence]),
        (Auto, AUTO_URL, &[Answer::Outage]),
        (Auto, streamable, &[http(404), opened(&["2026-07-28"])]),
        (Auto, sse, &[opened(&["2024-11-05"])]),
        (Auto, sse, &[Answer::NoEndpoint]),
        (Auto, sse, &[http(405)]),
        (Auto, sse, &[Answer::Odd]),
        (Legacy, AUTO_URL, &[http(404), Answer::NoEndpoint]),
        (Legacy, AUTO_URL, &[refused(-32022, &["2026-07-28"])]),
        (Legacy, streamable, &[http(404)]),
    ]), @r"
    init Streamable 2025-11-25 > open 2025-06-18 Streamable
    init Streamable 2025-11-25 > init Sse 2025-11-25 > open 2024-11-05 Sse
    init Streamable 2025-11-25 > init Sse 2025-11-25 > discover Streamable 2026-07-28 > open 2026-07-28 Streamable
    init Streamable 2025-11-25 > init Sse 2025-11-25 > discover Streamable 2026-07-28 > the server refused every opening that `protocol` permits
    init Streamable 2025-11-25 > init Sse 2025-11-25 > init Sse 2024-11-05 > open 2024-11-05 Sse
    init Streamable 2025-11-25 > init Sse 2025-11-25 > the server refused every opening that `protocol` permits
    init Streamable 2025-11-25 > discover Streamable 2026-07-28 > open 2026-07-28 Streamable
    init Streamable 2025-11-25 > discover Streamable 2026-07-28 > the server refused every opening that `protocol` permits
    init Streamable 2025-11-25 > the server could not be reached
    init Streamable 2025-11-25 > the server could not be reached
    init Streamable 2025-11-25 > the server could not be reached
    init Streamable 2025-11-25 > discover Streamable 2026-07-28 > open 2026-07-28 Streamable
    init Sse 2025-11-25 > open 2024-11-05 Sse
    init Sse 2025-11-25 > the server refused every opening that `protocol` permits
    init Sse 2025-11-25 > the server refused every opening that `protocol` permits
    init Sse 2025-11-25 > the server refused every opening that `protocol` permits
    init Streamable 2025-11-25 > init Sse 2025-11-25 > the server refused every opening that `protocol` permits
    init Streamable 2025-11-25 > no protocol revision in common: the server speaks 2026-07-28, herm speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25
    init Streamable 2025-11-25 > the server refused every opening that `protocol` permits
    ");
}

#[test]
fn stateless_first() {
    use Protocol::Stateless;
    insta::assert_snapshot!(table(&[
        (Stateless, STDIO, &[opened(&["2025-11-25", "2026-07-28"])]),
        (Stateless, STDIO, &[opened(&["2024-11-05", "2025-03-26"]), opened(&["2025-03-26"])]),
        (Stateless, STDIO, &[opened(&["2099-01-01"])]),
        (Stateless, STDIO, &[opened(&[])]),
        (Stateless, STDIO, &[refused(-32022, &["2026-07-28"]), opened(&["2026-07-28"])]),
        (Stateless, STDIO, &[refused(-32022, &["2026-07-28"]), refused(-32022, &["2026-07-28"])]),
        (Stateless, STDIO, &[refused(-32022, &["2025-06-18"]), opened(&["2025-06-18"])]),
        (Stateless, STDIO, &[refused(-32022, &["2099-01-01"])]),
        (Stateless, STDIO, &[refused(-32022, &[])]),
        (Stateless, STDIO, &[refused(-32020, &[])]),
        (Stateless, STDIO, &[refused(-32021, &[])]),
        (Stateless, STDIO, &[refused(-32601, &[]), opened(&["2025-11-25"])]),
        (Stateless, STDIO, &[refused(-32602, &[]), refused(-32602, &[])]),
        (Stateless, STDIO, &[Answer::Odd, opened(&["2025-11-25"])]),
        (Stateless, STDIO, &[Answer::Silence, opened(&["2025-11-25"])]),
        (Stateless, STDIO, &[Answer::Silence, Answer::Silence]),
        (Stateless, STDIO, &[Answer::Silence, Answer::Exited, opened(&["2025-11-25"])]),
        (Stateless, STDIO, &[Answer::Exited, opened(&["2025-11-25"])]),
        (Stateless, STDIO, &[Answer::Exited, Answer::Exited]),
        (Stateless, AUTO_URL, &[Answer::Silence]),
        (Stateless, AUTO_URL, &[Answer::Outage]),
        (Stateless, AUTO_URL, &[http(400), http(404), opened(&["2024-11-05"])]),
        (Stateless, AUTO_URL, &[http(400), http(404), Answer::NoEndpoint]),
        (Stateless, Some(HttpKind::Sse), &[opened(&["2024-11-05"])]),
    ]), @r"
    discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    discover Stdio 2026-07-28 > init Stdio 2025-03-26 > open 2025-03-26 Stdio
    discover Stdio 2026-07-28 > no protocol revision in common: the server speaks 2099-01-01, herm speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    discover Stdio 2026-07-28 > no protocol revision in common: the server speaks none, herm speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    discover Stdio 2026-07-28 > discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    discover Stdio 2026-07-28 > discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    discover Stdio 2026-07-28 > init Stdio 2025-06-18 > open 2025-06-18 Stdio
    discover Stdio 2026-07-28 > no protocol revision in common: the server speaks 2099-01-01, herm speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    discover Stdio 2026-07-28 > init Stdio 2025-11-25 > open 2025-11-25 Stdio
    discover Stdio 2026-07-28 > init Stdio 2025-11-25 > the server refused every opening that `protocol` permits
    discover Stdio 2026-07-28 > init Stdio 2025-11-25 > open 2025-11-25 Stdio
    discover Stdio 2026-07-28 > init Stdio 2025-11-25 > open 2025-11-25 Stdio
    discover Stdio 2026-07-28 > init Stdio 2025-11-25 > the server could not be reached
    discover Stdio 2026-07-28 > init Stdio 2025-11-25 > *init Stdio 2025-11-25 > open 2025-11-25 Stdio
    discover Stdio 2026-07-28 > *init Stdio 2025-11-25 > open 2025-11-25 Stdio
    discover Stdio 2026-07-28 > *init Stdio 2025-11-25 > the server could not be reached
    discover Streamable 2026-07-28 > the server could not be reached
    discover Streamable 2026-07-28 > the server could not be reached
    discover Streamable 2026-07-28 > init Streamable 2025-11-25 > init Sse 2025-11-25 > open 2024-11-05 Sse
    discover Streamable 2026-07-28 > init Streamable 2025-11-25 > init Sse 2025-11-25 > the server refused every opening that `protocol` permits
    init Sse 2025-11-25 > open 2024-11-05 Sse
    ");
}

#[test]
fn a_pinned_revision_is_the_only_one() {
    let old = Protocol::Pinned(Revision::V2025_03_26);
    let modern = Protocol::Pinned(Revision::V2026_07_28);
    insta::assert_snapshot!(table(&[
        (old.clone(), STDIO, &[opened(&["2025-03-26"])]),
        (old.clone(), STDIO, &[opened(&["2025-11-25"])]),
        (old.clone(), STDIO, &[refused(-32602, &["2025-11-25"])]),
        (old.clone(), STDIO, &[refused(-32601, &[])]),
        (old.clone(), AUTO_URL, &[http(404), opened(&["2025-03-26"])]),
        (old, STDIO, &[Answer::Odd]),
        (modern.clone(), STDIO, &[opened(&["2026-07-28"])]),
        (modern.clone(), STDIO, &[opened(&["2025-11-25"])]),
        (modern.clone(), STDIO, &[refused(-32601, &[])]),
        (modern.clone(), STDIO, &[refused(-32022, &["2026-07-28"]), opened(&["2026-07-28"])]),
        (modern.clone(), STDIO, &[Answer::Exited]),
        (modern.clone(), STDIO, &[Answer::Silence]),
        (modern, AUTO_URL, &[http(404)]),
    ]), @r"
    init Stdio 2025-03-26 > open 2025-03-26 Stdio
    init Stdio 2025-03-26 > no protocol revision in common: the server speaks 2025-11-25, herm speaks 2025-03-26
    init Stdio 2025-03-26 > no protocol revision in common: the server speaks 2025-11-25, herm speaks 2025-03-26
    init Stdio 2025-03-26 > the server refused every opening that `protocol` permits
    init Streamable 2025-03-26 > init Sse 2025-03-26 > open 2025-03-26 Sse
    init Stdio 2025-03-26 > the server refused every opening that `protocol` permits
    discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    discover Stdio 2026-07-28 > no protocol revision in common: the server speaks 2025-11-25, herm speaks 2026-07-28
    discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    discover Stdio 2026-07-28 > discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    discover Stdio 2026-07-28 > the server could not be reached
    discover Stdio 2026-07-28 > the server could not be reached
    discover Streamable 2026-07-28 > the server refused every opening that `protocol` permits
    ");
}

#[test]
fn a_remembered_verdict_is_tried_first_and_dropped_when_it_is_disproved() {
    let verdict = |revision, wire| Some(Verdict { revision, wire });
    let modern = verdict(Revision::V2026_07_28, Wire::Stdio);
    let old = verdict(Revision::V2025_06_18, Wire::Stdio);
    let sse = verdict(Revision::V2024_11_05, Wire::Sse);
    let stories: String = [
        (Protocol::Auto, STDIO, modern, vec![opened(&["2026-07-28"])]),
        (Protocol::Auto, STDIO, modern, vec![refused(-32601, &[]), opened(&["2025-11-25"])]),
        (Protocol::Auto, STDIO, modern, vec![Answer::Exited, opened(&["2025-11-25"])]),
        (
            Protocol::Auto,
            STDIO,
            modern,
            vec![refused(-32022, &["2026-07-28"]), opened(&["2026-07-28"])],
        ),
        (Protocol::Auto, STDIO, modern, vec![Answer::Outage]),
        (Protocol::Auto, STDIO, modern, vec![refused(-32021, &[])]),
        (Protocol::Auto, STDIO, old, vec![opened(&["2025-11-25"])]),
        (Protocol::Auto, STDIO, old, vec![Answer::Exited]),
        (
            Protocol::Auto,
            STDIO,
            old,
            vec![refused(-32601, &[]), refused(-32601, &[]), opened(&["2026-07-28"])],
        ),
        (Protocol::Stateless, STDIO, old, vec![Answer::Silence, opened(&["2026-07-28"])]),
        (Protocol::Auto, AUTO_URL, sse, vec![Answer::NoEndpoint, opened(&["2025-11-25"])]),
        // No longer permitted: forgotten.
        (Protocol::Legacy, STDIO, modern, vec![opened(&["2025-11-25"])]),
        (Protocol::Auto, Some(HttpKind::Streamable), sse, vec![opened(&["2025-11-25"])]),
    ]
    .into_iter()
    .map(|(protocol, http, verdict, answers)| {
        walk(Opening::new(protocol, http, verdict), &answers) + "\n"
    })
    .collect();
    insta::assert_snapshot!(stories, @r"
    discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    discover Stdio 2026-07-28 > *init Stdio 2025-11-25 > open 2025-11-25 Stdio
    discover Stdio 2026-07-28 > *init Stdio 2025-11-25 > open 2025-11-25 Stdio
    discover Stdio 2026-07-28 > discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    discover Stdio 2026-07-28 > the server could not be reached
    discover Stdio 2026-07-28 > the server refused every opening that `protocol` permits
    init Stdio 2025-06-18 > open 2025-11-25 Stdio
    init Stdio 2025-06-18 > the server could not be reached
    init Stdio 2025-06-18 > *init Stdio 2025-11-25 > discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    init Stdio 2025-06-18 > *discover Stdio 2026-07-28 > open 2026-07-28 Stdio
    init Sse 2024-11-05 > *init Streamable 2025-11-25 > open 2025-11-25 Streamable
    init Stdio 2025-11-25 > open 2025-11-25 Stdio
    init Streamable 2025-11-25 > open 2025-11-25 Streamable
    ");
}

#[test]
fn no_server_can_make_an_opening_long() {
    let versions = [
        vec![],
        named(&["2026-07-28"]),
        named(&["2025-06-18"]),
        named(&["2025-11-25", "2026-07-28"]),
        named(&["2099-01-01"]),
    ];
    let protocols = [
        Protocol::Auto,
        Protocol::Stateless,
        Protocol::Legacy,
        Protocol::Pinned(Revision::V2024_11_05),
        Protocol::Pinned(Revision::V2026_07_28),
    ];
    let kinds = [None, Some(HttpKind::Auto), Some(HttpKind::Streamable), Some(HttpKind::Sse)];
    let wires = [Wire::Stdio, Wire::Streamable, Wire::Sse];
    let mut random = fastrand::Rng::with_seed(7);
    let mut longest = 0;
    for _ in 0..50_000 {
        let protocol = protocols[random.usize(..protocols.len())].clone();
        let http = kinds[random.usize(..kinds.len())];
        let remembered = random.bool().then(|| Verdict {
            revision: Revision::ALL[random.usize(..Revision::ALL.len())],
            wire: wires[random.usize(..wires.len())],
        });
        let mut opening = Opening::new(protocol.clone(), http, remembered);
        let mut attempt = opening.first();
        let mut steps = 1;
        loop {
            let (Try::Initialize(wire, revision) | Try::Discover(wire, revision)) = attempt;
            assert_eq!(wire == Wire::Stdio, http.is_none());
            assert!(http != Some(HttpKind::Streamable) || wire == Wire::Streamable);
            assert!(http != Some(HttpKind::Sse) || wire == Wire::Sse);
            let handshake = matches!(attempt, Try::Initialize(..));
            assert_eq!(revision.is_handshake(), handshake);
            match protocol {
                Protocol::Legacy => assert!(handshake),
                Protocol::Pinned(pinned) => assert_eq!(revision, pinned),
                _ => {}
            }
            let supported = versions[random.usize(..versions.len())].clone();
            let answer = match random.u8(..9) {
                0 => Answer::Opened(supported),
                1 => Answer::Odd,
                2 | 3 => Answer::Refused { code: -32601, supported },
                4 => Answer::Refused { code: -32022, supported },
                5 => Answer::HttpRefused { status: 404 },
                6 => Answer::NoEndpoint,
                7 => Answer::Silence,
                _ => Answer::Exited,
            };
            match opening.answered(&answer) {
                Step::Try { attempt: next, .. } => attempt = next,
                Step::Open(verdict) => break assert!(opening.permits(verdict)),
                Step::Fail(_) => break,
            }
            steps += 1;
            longest = longest.max(steps);
            assert!(steps <= 8);
        }
    }
    assert!(longest >= 4, "the walk met nothing of interest");
}
