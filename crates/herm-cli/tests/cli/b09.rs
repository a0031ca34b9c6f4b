//! Case B09, loud standard error and telling exits, on the direct path.

use std::io::{BufRead as _, BufReader};
use std::process::Output;
use std::time::{Duration, Instant};

use herm_testkit::{Sandbox, binary};

use crate::trees::{config, herm};

const CANARY: &str = "hunter2-canary";
const MIB: u64 = 1024 * 1024;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let fake = binary("herm-fake");
    let start = format!(
        "command: '{}'\n    args: [b09, --marker, '{}']\n    env: {{CANARY: {CANARY}}}",
        fake.display(),
        sandbox.root().display()
    );
    // The server waits for TERM: that is when its host's memory is looked at.
    sandbox.config(&config(&start, "    supervision: {stop_grace: 1, term_grace: 1}\n"));
    sandbox
}

/// Calls the tool, and gives the most memory that `herm` has used by the time of its answer, in bytes.
fn most_memory(sandbox: &Sandbox, tool: &str, answer: &str) -> u64 {
    let mut herm = herm(sandbox, &["call", tool, "s=x"]);
    let mut line = String::new();
    BufReader::new(herm.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", herm.id())).unwrap();
    let output = herm.wait_with_output().unwrap();
    assert_eq!(line.trim(), answer, "{output:?}");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "the flood reaches the terminal");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    most.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn a_flood_on_standard_error_is_kept_clean_and_bounded() {
    let sandbox = sandbox();
    let quiet = most_memory(&sandbox, "t.echo", "x");
    let flooded = most_memory(&sandbox, "t.flood", "flooded");
    assert!(flooded < quiet + 8 * MIB, "{quiet} {flooded}");

    let file = sandbox.home().join("logs/mcp-stderr/t.log");
    let rotated = sandbox.home().join("logs/mcp-stderr/t.log.1");
    let mut text = std::fs::read_to_string(&file).unwrap();
    if let Ok(first) = std::fs::read_to_string(&rotated) {
        text.insert_str(0, &first);
    }
    assert!(text.len() as u64 <= 10 * MIB);
    let heads = text.lines().filter(|line| line.contains(" generation 1 pid ")).count();
    assert_eq!(heads, 2, "one for each process");
    assert!(text.contains("noise before the first word, noise"));
    assert!(text.contains("flood  of words with [REDACTED] in it") || text.contains("flood of"));
    for never in [CANARY, &CANARY[..9], "\u{1b}"] {
        assert!(!text.contains(never), "{never:?} is in the file");
    }
    // Whatever is not in the file is counted in it.
    let line = format!("flood \u{1b}[2J of words with {CANARY} in \u{1b}[31mit\n").len() as u64;
    let kept = text.lines().filter(|line| line.starts_with("flood ")).count() as u64;
    let dropped: u64 = text
        .lines()
        .filter_map(|line| line.strip_suffix(" lines were dropped here ---")?.rsplit(' ').next())
        .map(|count| count.parse::<u64>().unwrap())
        .sum();
    assert!(kept + dropped >= 4 * MIB / line, "{kept} kept, {dropped} dropped");
}

/// Calls the tool, which ends the server.
fn falls(tool: &str) -> (Output, String, Duration) {
    let sandbox = sandbox();
    let start = now();
    let output = herm(&sandbox, &["call", tool]).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said, start.elapsed())
}

#[test]
fn an_exit_tells_its_code_and_the_last_line_at_once() {
    let (output, said, took) = falls("t.die7");
    assert_eq!(output.status.code(), Some(1), "the outcome is unknown: {said}");
    assert!(said.contains("exit code 7") && said.contains("db locked"), "{said}");
    assert!(took < Duration::from_secs(10), "it waited for a limit: {took:?}");
}

#[test]
fn a_fall_tells_its_signal_and_the_last_line_at_once() {
    let (output, said, took) = falls("t.segv");
    assert_eq!(output.status.code(), Some(1), "the outcome is unknown: {said}");
    assert!(said.contains("signal 11") && said.contains("about to fall"), "{said}");
    assert!(took < Duration::from_secs(10), "it waited for a limit: {took:?}");
}

#[expect(clippy::disallowed_methods, reason = "another process is timed")]
fn now() -> Instant {
    Instant::now()
}
