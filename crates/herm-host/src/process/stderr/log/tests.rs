use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn log(state: &Path, secrets: &[&str]) -> Log {
    Log::new(state, &"srv".parse().unwrap(), 3, Redactor::of(secrets))
}

fn text(state: &Path) -> String {
    fs::read_to_string(state.join("logs/mcp-stderr/srv.log")).unwrap()
}

#[tokio::test]
async fn a_secret_never_lands_in_the_file_wherever_it_is_cut() {
    let secret = "hunter2-and-a-canary\nsecond-line-of-it";
    let said = "before hunter2-and-\x1b[31ma-canary after\nx second-line-of-it\n";
    for split in 0..=said.len() {
        let state = tempfile::tempdir().unwrap();
        let mut sink = log(state.path(), &[secret]).begin(7);
        sink.push(&said.as_bytes()[..split]);
        sink.push(&said.as_bytes()[split..]);
        drop(sink);
        saved().await;
        let text = text(state.path());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("--- 2") && lines[0].ends_with(" generation 3 pid 7 ---"));
        // A line of its own in the middle of the secret is not what a read boundary makes.
        assert_eq!(lines[1..], ["before [REDACTED] after", "x [REDACTED]"], "split at {split}");
    }
}

#[tokio::test]
async fn a_secret_at_the_bound_of_a_line_does_not_leave_its_start() {
    let secret = "hunter2-canary";
    for before in [LINE - 8, LINE, RAW - 8, RAW - 1] {
        let state = tempfile::tempdir().unwrap();
        let mut sink = log(state.path(), &[secret]).begin(7);
        // Wide characters are counted as characters, escapes are not counted at all.
        sink.push("\x1b[0m".repeat(10).as_bytes());
        sink.push(&vec![b'.'; before.saturating_sub(40)]);
        sink.push(secret.repeat(900).as_bytes());
        drop(sink);
        saved().await;
        let text = text(state.path());
        assert!(!text.contains("hunter2"), "{before}: {:?}", &text[text.len() - 60..]);
        assert!(text.lines().all(|line| line.chars().count() <= LINE));
        assert!(text.ends_with("…\n"), "{before}");
    }
}

#[tokio::test]
async fn a_full_file_is_rotated_and_both_are_ours_alone() {
    let state = tempfile::tempdir().unwrap();
    let log = log(state.path(), &[]);
    for round in 0..8 {
        let mut sink = log.begin(round);
        for _ in 0..100 {
            sink.push(&[b'x'; 1000].repeat(10));
            sink.push(b"\n");
            // What is no place for is dropped, and that is not what is tested here.
            saved().await;
        }
        sink.push("y".repeat(1999).as_bytes());
        sink.push(b"\n");
        drop(sink);
        saved().await;
        if state.path().join("logs/mcp-stderr/srv.log.1").exists() {
            break;
        }
        // Bring it near the bound without writing it line by line.
        let file = state.path().join("logs/mcp-stderr/srv.log");
        let file = OpenOptions::new().write(true).open(file).unwrap();
        file.set_len(ROTATE).unwrap();
    }
    let folder = state.path().join("logs/mcp-stderr");
    assert!(fs::metadata(folder.join("srv.log.1")).unwrap().len() >= ROTATE);
    assert!(fs::metadata(folder.join("srv.log")).unwrap().len() < ROTATE);
    for (path, mode) in [("srv.log", 0o600), ("srv.log.1", 0o600), ("", 0o700), ("..", 0o700)] {
        let found = fs::metadata(folder.join(path)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{path}");
    }
}

#[tokio::test]
async fn what_is_no_file_is_not_written_to_and_nobody_waits() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("logs/mcp-stderr");
    fs::create_dir_all(&folder).unwrap();
    let elsewhere = state.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.join("srv.log")).unwrap();
    let mut sink = log(state.path(), &[]).begin(7);
    sink.push(b"one\n");
    drop(sink);
    saved().await;
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "");
}

#[test]
fn a_flood_is_dropped_counted_and_never_waited_for() {
    let state = tempfile::tempdir().unwrap();
    let mut sink = log(state.path(), &[]).begin(7);
    for _ in 0..20_000 {
        sink.push(b"flood\n");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(saved());
    sink.push(b"last\n");
    drop(sink);
    runtime.block_on(saved());
    let text = text(state.path());
    let written = text.lines().filter(|line| *line == "flood").count() as u64;
    let dropped: u64 = text
        .lines()
        .filter_map(|line| line.strip_prefix("--- ")?.strip_suffix(" lines were dropped here ---"))
        .map(|count| count.parse::<u64>().unwrap())
        .sum();
    assert_eq!(written + dropped, 20_000);
    assert!(text.ends_with("last\n"));
}
