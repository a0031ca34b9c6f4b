use std::task::Poll;

use bytes::Bytes;
use tokio::time::Instant;

use super::super::OutKind;
use super::*;
use crate::process::tests::plan;

const LIMIT: usize = 16 * 1024 * 1024;
const SHORT: Graces = Graces { stop: Duration::from_millis(300), term: Duration::from_millis(300) };

async fn sh(script: &str) -> StdioLink {
    StdioLink::start(plan("sh", &["-c", script]), LIMIT).await.unwrap()
}

fn message(body: &str) -> Outgoing {
    Outgoing {
        kind: OutKind::Request(1),
        method: "m".to_owned(),
        body: body.to_owned(),
        headers: Vec::new(),
    }
}

async fn next(link: &mut StdioLink) -> LinkEvent {
    timeout(Duration::from_secs(20), link.next()).await.expect("nothing came")
}

async fn frame(link: &mut StdioLink) -> Bytes {
    match next(link).await {
        LinkEvent::Frame { bytes, of: None } => bytes,
        other => panic!("no frame: {other:?}"),
    }
}

async fn number(link: &mut StdioLink) -> u32 {
    std::str::from_utf8(&frame(link).await).unwrap().parse().unwrap()
}

async fn end(link: &mut StdioLink) -> LinkError {
    match next(link).await {
        LinkEvent::Closed(error) => error,
        other => panic!("not closed: {other:?}"),
    }
}

fn poll_once(link: &mut StdioLink) -> Poll<LinkEvent> {
    link.poll_next(&mut Context::from_waker(std::task::Waker::noop()))
}

#[tokio::test]
async fn lines_of_one_write_come_one_by_one_and_whole() {
    let mut link = sh(r#"printf '1\n\n{"a":2}\r\n\377\376\n'; exec cat"#).await;
    for expected in [&b"1"[..], b"", b"{\"a\":2}\r", b"\xff\xfe"] {
        assert_eq!(frame(&mut link).await, expected);
    }
    link.send(message("{\"b\":3}")).unwrap();
    assert_eq!(frame(&mut link).await, "{\"b\":3}");
    let closed = link.close(SHORT).await;
    assert!(matches!(closed, LinkError::Exited { code: Some(0), signal: None, .. }), "{closed:?}");
}

#[tokio::test]
async fn a_character_split_between_writes_is_whole() {
    let mut link = sh(r"printf 'a\360\237'; read go; printf '\230\200\n'; exec cat").await;
    while link.lines.room().is_empty() {
        tokio::select! {
            biased;
            event = link.next() => panic!("{event:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    link.send(message("go")).unwrap();
    assert_eq!(frame(&mut link).await, "a\u{1f600}");
}

#[tokio::test]
async fn five_mebibytes_pass_both_ways_although_next_is_dropped_at_every_wait() {
    let mut link = sh("exec cat").await;
    let body: String = (0..5 * 1024 * 1024 / 8).map(|n| format!("{n:08x}")).collect();
    link.send(message(&body)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let event = loop {
        assert!(Instant::now() < deadline);
        tokio::select! {
            biased;
            event = link.next() => break event,
            () = tokio::task::yield_now() => {}
        }
    };
    let LinkEvent::Frame { bytes, .. } = event else { panic!("no frame") };
    assert!(bytes == body.as_bytes());
    assert!(link.lines.room().capacity() < 1024 * 1024, "a big buffer stays behind");
}

#[tokio::test]
async fn two_hundred_megabytes_in_one_line_cost_that_line_only() {
    let script = r"head -c 200000000 /dev/zero | tr '\0' x; echo; echo after; exec cat";
    let mut link = StdioLink::start(plan("sh", &["-c", script]), 1024 * 1024).await.unwrap();
    let LinkEvent::Oversized { head, of: None } = next(&mut link).await else { panic!() };
    assert_eq!(head, vec![b'x'; 4096]);
    assert!(link.lines.room().capacity() < 1024 * 1024);
    assert_eq!(frame(&mut link).await, "after");
    link.send(message("alive")).unwrap();
    assert_eq!(frame(&mut link).await, "alive");
}

#[tokio::test]
async fn a_child_that_does_not_read_fills_the_outbox_and_is_given_up() {
    let mut link = sh("echo up; exec sleep 1000").await;
    assert_eq!(frame(&mut link).await, "up");
    let body = "x".repeat(100 * 1024);
    let taken = std::iter::from_fn(|| link.send(message(&body)).ok()).count();
    assert_eq!(taken, 11, "a mebibyte and the message that crosses it");
    assert_eq!(link.send(message("{}")), Err(NotSent::Full));

    tokio::time::pause();
    let start = Instant::now();
    assert!(matches!(link.next().await, LinkEvent::Closed(LinkError::NotReading)));
    assert!((30..32).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert!(poll_once(&mut link).is_pending());
    assert_eq!(link.send(message("{}")), Err(NotSent::Closed));
}

#[tokio::test]
async fn a_child_that_closed_its_input_does_not_read() {
    let mut link = sh("exec <&-; echo up; exec sleep 1000").await;
    assert_eq!(frame(&mut link).await, "up");
    link.send(message("{}")).unwrap();
    assert!(matches!(end(&mut link).await, LinkError::NotReading));
}

#[tokio::test]
async fn an_exit_comes_with_its_code_and_the_last_words() {
    let script =
        r#"echo '{}'; printf 'one\n\033[31mdb locked\033[0m\n' >&2; printf '{"half":'; exit 7"#;
    let mut link = sh(script).await;
    assert_eq!(frame(&mut link).await, "{}");
    let LinkError::Exited { code: Some(7), signal: None, stderr } = end(&mut link).await else {
        panic!()
    };
    assert_eq!(stderr, "one\ndb locked");
    assert!(poll_once(&mut link).is_pending());
    assert_eq!(link.send(message("{}")), Err(NotSent::Closed));
    let again = link.close(SHORT).await;
    assert!(matches!(again, LinkError::Exited { code: Some(7), .. }), "{again:?}");
}

#[tokio::test]
async fn what_was_said_before_the_exit_is_delivered_before_it() {
    let mut link = sh("seq 1 10000; exit 4").await;
    link.tree.exit().await;
    for expected in 1..=10_000 {
        assert_eq!(number(&mut link).await, expected);
    }
    let error = end(&mut link).await;
    assert!(matches!(error, LinkError::Exited { code: Some(4), .. }), "{error:?}");
}

#[tokio::test]
async fn exits_in_the_same_instant_are_all_seen() {
    let mut links = Vec::new();
    for code in 0..8 {
        links.push((code, sh(&format!("read go; exit {code}")).await));
    }
    for (_, link) in &mut links {
        link.send(message("go")).unwrap();
        assert!(poll_once(link).is_pending());
    }
    for (expected, mut link) in links {
        let error = end(&mut link).await;
        assert!(matches!(error, LinkError::Exited { code, .. } if code == Some(expected)));
    }
}

#[tokio::test]
async fn a_crash_is_told_from_an_exit() {
    let mut link = sh("kill -SEGV $$").await;
    let error = end(&mut link).await;
    assert!(matches!(error, LinkError::Exited { code: None, signal: Some(11), .. }), "{error:?}");
}

#[tokio::test]
async fn output_closed_while_the_child_lives_is_an_end_of_its_own() {
    let mut link = sh("echo bye >&2; exec >&-; exec sleep 1000").await;
    let LinkError::OutputClosed { stderr } = end(&mut link).await else { panic!() };
    assert_eq!(stderr, "bye");
}

#[tokio::test]
async fn a_mebibyte_of_stderr_before_the_first_line_blocks_nothing() {
    let mut link =
        sh(r"head -c 1048576 /dev/zero | tr '\0' e >&2; printf '\nlast\n' >&2; echo up; exec cat")
            .await;
    assert_eq!(frame(&mut link).await, "up");
    let words = link.stderr.last_words().await;
    assert!(words.starts_with('e') && words.ends_with("\nlast"), "{words}");
}

#[tokio::test]
async fn the_environment_is_the_plan_and_the_marker() {
    let mut plan = plan("env", &[]);
    plan.environment.insert("NEED".to_owned(), "v1".into());
    let mut link = StdioLink::start(plan, LIMIT).await.unwrap();
    let mut names = Vec::new();
    while let LinkEvent::Frame { bytes, .. } = next(&mut link).await {
        let line = String::from_utf8(bytes.to_vec()).unwrap();
        names.push(line.split('=').next().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["HERM_CHILD", "NEED", "PATH"]);
}

#[cfg(target_os = "linux")]
mod trees {
    use super::*;
    use crate::process::tests::gone;

    #[tokio::test]
    async fn a_grandchild_that_holds_the_output_does_not_hide_the_exit() {
        let mut link = sh("sleep 1000 & echo $!; echo last >&2; exit 3").await;
        let grandchild = number(&mut link).await;
        let error = end(&mut link).await;
        assert!(
            matches!(&error, LinkError::Exited { code: Some(3), stderr, .. } if stderr == "last"),
            "{error:?}"
        );
        assert!(!gone(grandchild), "it is ended by closing, not by looking");
        link.close(SHORT).await;
        assert!(gone(grandchild));
    }

    #[tokio::test]
    async fn a_grandchild_that_never_stops_writing_does_not_hide_the_exit() {
        let mut link = sh("yes & exit 3").await;
        let deadline = Instant::now() + Duration::from_secs(10);
        let error = loop {
            match next(&mut link).await {
                LinkEvent::Closed(error) => break error,
                _ => assert!(Instant::now() < deadline),
            }
        };
        assert!(matches!(error, LinkError::Exited { code: Some(3), .. }), "{error:?}");
        link.close(SHORT).await;
    }

    #[tokio::test]
    async fn a_tree_that_ignores_everything_is_gone_after_close() {
        let script = "trap '' TERM HUP; (while :; do sleep 1000; done) & echo $!; \
                      while :; do sleep 1000; done";
        let mut link = sh(script).await;
        let (leader, grandchild) = (link.pid().unwrap(), number(&mut link).await);
        let start = Instant::now();
        let closed = link.close(SHORT).await;
        assert!(matches!(closed, LinkError::Exited { signal: Some(9), .. }), "{closed:?}");
        assert!(gone(leader) && gone(grandchild));
        let took = start.elapsed();
        assert!(SHORT.stop + SHORT.term <= took && took < Duration::from_secs(3), "{took:?}");
        assert!(!std::path::Path::new(&format!("/proc/{leader}")).exists(), "it is not reaped");
    }

    #[tokio::test]
    async fn a_grandchild_that_left_the_group_is_gone_after_close() {
        let mut link = sh("setsid sleep 1000 & echo $!; exec cat").await;
        let grandchild = number(&mut link).await;
        link.close(SHORT).await;
        assert!(gone(grandchild));
    }

    #[tokio::test]
    async fn a_leaf_has_its_grace_although_its_leader_dies_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let script = "(trap 'echo clean > done; exit' TERM; echo up; while :; do sleep 0.05; done) & \
                      exec cat";
        let mut plan = plan("sh", &["-c", script]);
        plan.target.cwd = Some(folder.path().display().to_string());
        let mut link = StdioLink::start(plan, LIMIT).await.unwrap();
        assert_eq!(frame(&mut link).await, "up");
        let graces = Graces { stop: Duration::from_secs(5), term: Duration::from_secs(5) };
        link.close(graces).await;
        assert_eq!(std::fs::read_to_string(folder.path().join("done")).unwrap(), "clean\n");
    }

    #[tokio::test]
    async fn a_dropped_link_takes_its_tree_along() {
        let script = "trap '' TERM HUP; setsid sleep 1000 & echo $!; sleep 1000 & echo $!; wait";
        let mut link = sh(script).await;
        let pids = [link.pid().unwrap(), number(&mut link).await, number(&mut link).await];
        drop(link);
        let deadline = Instant::now() + Duration::from_secs(10);
        let zombie = format!("/proc/{}", pids[0]);
        while !pids.iter().all(|pid| gone(*pid)) || std::path::Path::new(&zombie).exists() {
            assert!(Instant::now() < deadline, "{pids:?}");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_close_that_is_dropped_takes_the_tree_along() {
        let mut link = sh("trap '' TERM; sleep 1000 & echo $!; wait").await;
        let pids = [link.pid().unwrap(), number(&mut link).await];
        let graces = Graces { stop: Duration::from_secs(60), term: Duration::from_secs(60) };
        timeout(Duration::from_millis(50), link.close(graces)).await.unwrap_err();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !pids.iter().all(|pid| gone(*pid)) {
            assert!(Instant::now() < deadline, "{pids:?}");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_was_sent_is_written_before_the_input_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan("sh", &["-c", "cat > got"]);
        plan.target.cwd = Some(folder.path().display().to_string());
        let mut link = StdioLink::start(plan, LIMIT).await.unwrap();
        link.send(message("bye")).unwrap();
        link.close(Graces { stop: Duration::from_secs(5), term: Duration::ZERO }).await;
        assert_eq!(std::fs::read_to_string(folder.path().join("got")).unwrap(), "bye\n");
    }
}
