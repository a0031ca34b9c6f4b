//! `herm` is killed by signal 9 at random moments: nothing that it started is left.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;
use herm_testkit::wait_until;

use crate::trees::{Tree, children, name, signal, state};

const KILLS: usize = 50;
const AT_ONCE: usize = 8;
/// Everything is gone by then.
const LIMIT: Duration = Duration::from_secs(6);
/// The graces of a person's configuration: the host is not there to keep them.
const KEYS: &str = "    supervision: {stop_grace: 2, term_grace: 3}\n";

/// Which trees were killed in full growth, which before.
#[derive(Default)]
struct Seen {
    grown: AtomicUsize,
    early: AtomicUsize,
}

#[test]
fn fifty_kills_leave_nothing() {
    let seed = std::env::var("HERM_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| fastrand::u64(..));
    let (seen, next) = (Seen::default(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= KILLS {
                        return;
                    }
                    kill(&format!("HERM_TEST_SEED={seed} run {run}"), seed, run, &seen);
                }
            });
        }
    });
    let (grown, early) = (seen.grown.into_inner(), seen.early.into_inner());
    assert!(grown >= 5 && early >= 5, "{grown} grown, {early} early: the moments are not random");
}

/// What `pkill -9 herm` does: the host, and whatever of its processes is named like it, at once.
#[test]
fn a_kill_of_all_that_is_named_like_the_host_spares_what_ends_its_servers() {
    let tree = Tree::shell("b01", KEYS);
    let mut herm = tree.herm(&["call", "t.silent"]);
    tree.grown();
    let matched = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let own_tree = tree.living().contains(pid);
        !own_tree
            && (name(*pid).contains("herm") || String::from_utf8_lossy(&words).contains("herm"))
    };
    let matching: Vec<u32> = children(herm.id()).into_iter().filter(matched).collect();
    for pid in matching {
        signal("-KILL", pid);
    }
    herm.kill().unwrap();
    herm.wait().unwrap();
    wait_until(LIMIT, "the tree is gone", || tree.living().is_empty().then_some(()));
}

fn kill(which: &str, seed: u64, run: usize, seen: &Seen) {
    let mut rng = Rng::with_seed(seed.wrapping_add(run as u64));
    let (script, words): (&str, &[&str]) = match run % 3 {
        0 => ("b01", &["call", "t.silent"]),
        1 => ("b01", &["call", "t.echo", "s=x"]),
        _ => ("b01-mute", &["test"]),
    };
    let tree =
        if run.is_multiple_of(4) { Tree::node(script, KEYS) } else { Tree::shell(script, KEYS) };
    let mut herm = tree.herm(words);
    match run % 5 {
        // In the middle of the start, wherever that is.
        0..=2 => pause(Duration::from_micros(rng.u64(..60_000))),
        // In full growth, or in the teardown.
        3 => tree.grown(),
        _ => {
            tree.grown();
            pause(Duration::from_millis(rng.u64(..1500)));
        }
    }
    let reaper = children(herm.id()).into_iter().find(|pid| name(*pid) == "mcp-reaper");
    let living = tree.living().len();
    herm.kill().unwrap();
    herm.wait().unwrap();
    let count = if living >= 4 { &seen.grown } else { &seen.early };
    count.fetch_add(1, Ordering::Relaxed);
    wait_until(LIMIT, &format!("the tree is gone ({which}, of {living})"), || {
        tree.living().is_empty().then_some(())
    });
    wait_until(LIMIT, &format!("the reaper has ended ({which})"), || {
        reaper.is_none_or(|pid| matches!(state(pid), None | Some('Z'))).then_some(())
    });
    // What was in the middle of its start when it was looked for would have shown itself by now.
    assert_eq!(tree.living(), Vec::<u32>::new(), "{which}");
}

#[expect(clippy::disallowed_methods, reason = "a random moment is what is tested")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
