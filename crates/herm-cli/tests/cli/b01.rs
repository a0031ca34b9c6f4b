//! Case B01, the tree that will not die, on the direct path.

use std::io::Read as _;
use std::process::Child;
use std::time::Duration;

use herm_testkit::wait_until;

use crate::trees::{SOON, Tree, signal};

/// Everything is gone so long after the trigger. The graces are a fifth of that.
const LIMIT: Duration = Duration::from_secs(3);
const KEYS: &str = "    connect_timeout: 2\n    supervision: {stop_grace: 0.3, term_grace: 0.3}\n";

/// Waits for the command and its tree to end in time, and returns the status.
fn ended(tree: &Tree, mut herm: Child) -> Option<i32> {
    let status = wait_until(LIMIT, "herm ends", || herm.try_wait().unwrap());
    // The command waits for its servers: there is nothing left to be waited for.
    assert_eq!(tree.living(), Vec::<u32>::new());
    status.code()
}

fn stopped_by(kind: &str) -> Option<i32> {
    let tree = Tree::shell("b01", KEYS);
    let herm = tree.herm(&["call", "t.silent"]);
    tree.grown();
    signal(kind, herm.id());
    ended(&tree, herm)
}

#[test]
fn a_stop_leaves_nothing_although_the_leaf_holds_the_output() {
    assert_eq!(stopped_by("-TERM"), Some(143));
}

#[test]
fn an_interrupt_leaves_nothing_although_the_leaf_holds_the_output() {
    assert_eq!(stopped_by("-INT"), Some(130));
}

#[test]
fn a_connect_that_comes_to_its_limit_leaves_nothing() {
    for tree in [Tree::shell("b01-mute", KEYS), Tree::node("b01-mute", KEYS)] {
        let herm = tree.herm(&["test"]);
        tree.grown();
        // The trigger is the limit itself, two seconds after the start.
        wait_until(SOON, "the limit is over and the tree is gone", || {
            tree.living().is_empty().then_some(())
        });
        assert_eq!(ended(&tree, herm), Some(1));
    }
}

#[test]
fn a_connect_that_is_given_up_leaves_nothing() {
    let tree = Tree::shell("b01-mute", &KEYS.replace("connect_timeout: 2", "connect_timeout: 60"));
    let herm = tree.herm(&["test"]);
    tree.grown();
    signal("-INT", herm.id());
    assert_eq!(ended(&tree, herm), Some(130));
}

#[test]
fn an_ordinary_end_delivers_the_result_first_and_leaves_nothing() {
    for tree in [Tree::shell("b01", KEYS), Tree::node("b01", KEYS)] {
        let mut herm = tree.herm(&["call", "t.echo", "s=early"]);
        let mut said = [0; 6];
        herm.stdout.take().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"early\n");
        // None of them ends by itself, so the teardown is still to come, or under way.
        assert!(!tree.living().is_empty(), "the result came after the teardown");
        assert_eq!(ended(&tree, herm), Some(0));
    }
}
