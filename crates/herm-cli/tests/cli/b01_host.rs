//! Case B01, the tree that will not die, under a host that goes on: stop, forced reconnect, idle
//! recycling, the connect limit, a connect that is given up, and the host's ordinary end.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use herm_testkit::{Sandbox, processes_with, wait_until};
use serde_json::json;

use crate::client::SOON;
use crate::control::{document, run};
use crate::serve::entry;
use crate::story::{Story, now, text};
use crate::trees::{Left, children, script, state};

/// Everything is gone so long after the trigger.
const LIMIT: Duration = Duration::from_secs(3);
/// No second attempt by itself.
const SUPERVISION: &str = "supervision: {stop_grace: 0.5, term_grace: 0.5, backoff_initial: 30}";

/// A host whose server `case` is such a tree, with the good one beside it.
struct Grove {
    story: Story,
    /// After the host: what that one leaves, this one ends.
    left: Left,
}

impl Grove {
    fn new(server: &str, keys: &str) -> Self {
        let sandbox = Sandbox::new();
        let marker = sandbox.root().join("tree").display().to_string();
        let root = sandbox.root().display().to_string();
        // The first thing that a generation does is to look who of the one before it still runs.
        let witness = format!(
            "for pid in $(cat '{root}/before' 2>/dev/null); do\n\
             if [ -n \"$({{ tr -d '\\0' </proc/$pid/cmdline; }} 2>/dev/null)\" ]; then\n\
             echo $pid >>'{root}/overlap'; fi; done\necho >>'{root}/starts'\n"
        );
        let file = sandbox.write("tree/tree.sh", witness + &script(server, &marker));
        let command = ["sh".to_owned(), file.display().to_string()];
        let case = entry("case", &command, &format!(", {SUPERVISION}{keys}"));
        Self { story: Story::of(sandbox, &case, None), left: Left(marker) }
    }

    fn living(&self) -> Vec<u32> {
        processes_with(&self.left.0)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.story.sandbox.root().join(name)
    }

    /// Waits until all four processes of a generation run, and tells the next one of them.
    fn grown(&self) -> Vec<u32> {
        let tree = wait_until(SOON, "the tree has grown", || {
            Some(self.living()).filter(|living| living.len() == 4)
        });
        let pids: Vec<String> = tree.iter().map(u32::to_string).collect();
        std::fs::write(self.file("before"), pids.join("\n")).unwrap();
        tree
    }

    /// Waits until none of them is left, within the limit from the trigger on.
    fn fallen(&self, tree: &[u32], trigger: Instant) {
        wait_until(LIMIT.saturating_sub(trigger.elapsed()), "the old tree is gone", || {
            (!self.living().iter().any(|pid| tree.contains(pid))).then_some(())
        });
        wait_until(LIMIT, "the host has reaped them", || {
            let children = children(self.story.client.child.id());
            (!children.into_iter().any(|pid| state(pid) == Some('Z'))).then_some(())
        });
    }

    /// Sees that this many generations were started, each after the end of the one before.
    fn one_by_one(&self, generations: usize) {
        let starts = std::fs::read_to_string(self.file("starts")).unwrap();
        assert_eq!(starts.lines().count(), generations);
        let overlap = std::fs::read_to_string(self.file("overlap")).unwrap_or_default();
        assert_eq!(overlap, "", "these of the old generation ran when the new one was started");
    }

    fn end(self) {
        let Self { story, left } = self;
        story.end();
        assert_eq!(processes_with(&left.0), Vec::<u32>::new());
    }
}

#[test]
fn a_stop_command_is_back_in_time_although_the_leaf_holds_the_output() {
    let mut grove = Grove::new("b01", "");
    grove.grown();
    assert_eq!(text(&grove.story.echo("up")), "up");
    grove.story.quiet();
    let trigger = now();
    let (_, said, code) = run(&grove.story.sandbox, &["stop"]);
    let took = trigger.elapsed();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(grove.living(), Vec::<u32>::new(), "the stop did not wait for it");
    assert!(took < LIMIT, "{took:?}");
    assert_eq!(grove.story.client.wait().code(), Some(0));
}

#[test]
fn a_forced_reconnect_ends_the_old_tree_before_it_starts_the_new_one() {
    let mut grove = Grove::new("b01", "");
    for generation in 1..=3 {
        let old = grove.grown();
        assert_eq!(text(&grove.story.echo("up")), "up");
        let mut herm = grove.story.sandbox.herm();
        herm.args(["restart", "case"]).stdout(Stdio::null()).stderr(Stdio::null());
        let trigger = now();
        let mut herm = herm.spawn().unwrap();
        grove.fallen(&old, trigger);
        let status = wait_until(SOON, "`restart` is back", || herm.try_wait().unwrap());
        assert_eq!(status.code(), Some(0));
        grove.one_by_one(generation + 1);
    }
    assert_eq!(text(&grove.story.echo("still")), "still");
    grove.end();
}

#[test]
fn an_idle_tree_is_recycled_whole_and_the_next_call_starts_another() {
    let mut grove = Grove::new("b01", ", idle_timeout_seconds: 1");
    for generation in 1..=3 {
        let old = grove.grown();
        assert_eq!(text(&grove.story.echo("up")), "up");
        let idle = now() + Duration::from_secs(1);
        grove.story.reaches("idle");
        grove.fallen(&old, idle);
        grove.one_by_one(generation);
        assert_eq!(text(&grove.story.echo("again")), "again");
    }
    grove.one_by_one(4);
    grove.end();
}

#[test]
fn a_tree_that_never_opens_is_gone_after_the_connect_limit() {
    let grove = Grove::new("b01-mute", ", connect_timeout: 2");
    let started = now();
    let tree = grove.grown();
    let status = wait_until(SOON, "the limit is over", || {
        Some(grove.story.status()).filter(|status| status["reason"].is_object())
    });
    let at_least = started.elapsed();
    assert!(at_least < Duration::from_secs(2 + 3), "{at_least:?}: {status}");
    grove.fallen(&tree, started + Duration::from_secs(2));
    assert!(status["reason"]["text"].as_str().unwrap().contains("connect_timeout"), "{status}");
    grove.one_by_one(1);
    grove.end();
}

#[test]
fn a_connect_that_is_given_up_leaves_no_tree() {
    let grove = Grove::new("b01-mute", ", connect_timeout: 60");
    let tree = grove.grown();
    let good = Story::good(&grove.story.sandbox);
    grove.story.sandbox.config(&format!("mcp_servers:\n{good}"));
    let trigger = now();
    // Or herm has seen the file by itself.
    let (reloaded, code) = document(&grove.story.sandbox, &["reload"]);
    assert_eq!(code, Some(0), "{reloaded}");
    grove.fallen(&tree, trigger);
    assert_eq!(grove.story.statuses().len(), 1);
    grove.one_by_one(1);
    grove.end();
}

#[test]
fn the_ordinary_end_of_a_host_leaves_no_tree() {
    let mut grove = Grove::new("b01", "");
    grove.grown();
    let answer = grove.story.call("echo", &json!({"s": "last"}));
    assert_eq!(text(&answer), "last");
    grove.story.quiet();
    let trigger = now();
    grove.end();
    assert!(trigger.elapsed() < LIMIT, "{:?}", trigger.elapsed());
}
