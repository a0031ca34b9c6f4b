//! Case B14, (g) to (i): notices of a changed list.

use std::path::Path;

use herm_testkit::{fake_log, wait_until};
use serde_json::json;

use crate::client::{SOON, is_notice};
use crate::story::{Story, came, fails, outgoing, text};

fn listings(log: &Path) -> usize {
    came(log, r#""method":"tools/list""#)
}

/// The names that the server's tools have downstream, `t1` to `tN`.
fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("mcp__case__t{number}")).collect()
}

/// Those that are listed.
fn listed(story: &mut Story) -> Vec<String> {
    let tools = story.client.ask("tools/list", &json!({}))["result"]["tools"].take();
    let names = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    names.filter(|name| name.starts_with("mcp__case__")).map(str::to_owned).collect()
}

/// Waits until the list is announced and has so many tools. Nobody asks for it meanwhile: who has seen
/// it needs no notice. Gives how many notices came.
fn told_of(story: &mut Story, count: usize) -> usize {
    story.client.find("the notice of a new list", is_notice);
    wait_until(SOON, &format!("{count} tools are known"), || {
        (story.status()["tools"] == count).then_some(())
    });
    let others = story.client.notices();
    assert_eq!(listed(story), numbered(count));
    1 + others
}

/// The first list, as it was fetched before anything happens to it.
fn first_list(story: &mut Story) {
    wait_until(SOON, "the first list", || (listed(story) == numbered(2)).then_some(()));
    story.client.notices();
}

#[test]
fn a_storm_of_notices_is_two_refreshes_and_three_notices_at_most() {
    let mut story = Story::stdio("b14g", "");
    first_list(&mut story);
    assert_eq!(text(&story.call("t1", &json!({"s": "storm"}))), "storm");
    let before = told_of(&mut story, 4);
    assert_eq!(text(&story.call("t4", &json!({"s": "new"}))), "new");
    let listings = listings(&story.log);
    assert!(listings <= 3, "{listings} listings");
    let sent = outgoing(&story.log, "list_changed").len();
    assert_eq!(sent, 201, "of the fake");
    let ended = story.end();
    let notices = before + ended.notices();
    assert!((1..=3).contains(&notices), "{notices} notices downstream");
    assert_eq!(fake_log::spawns(&ended.log), 1);
}

#[test]
fn notices_before_and_during_the_first_listing_lose_no_tool() {
    let mut story = Story::stdio("b14h", "");
    assert_eq!(text(&story.call("t1", &json!({"s": "first"}))), "first");
    wait_until(SOON, "4 tools are known", || (story.status()["tools"] == 4).then_some(()));
    assert_eq!(listed(&mut story), numbered(4));
    assert_eq!(text(&story.call("t4", &json!({"s": "new"}))), "new");
    let listings = listings(&story.log);
    assert!(listings <= 3, "{listings} listings");
    let ended = story.end();
    // Fewer where the client came later than a list.
    assert!(ended.notices() <= 3, "{} notices downstream", ended.notices());
    assert_eq!(fake_log::spawns(&ended.log), 1);
}

#[test]
fn a_running_call_is_not_disturbed_and_a_removed_tool_is_refused_without_a_start() {
    let mut story = Story::stdio("b14i", "");
    first_list(&mut story);
    // It is answered after the refresh that it causes.
    assert_eq!(text(&story.call("t1", &json!({"s": "undisturbed"}))), "undisturbed");
    let before = told_of(&mut story, 1);
    let answer = story.call("t2", &json!({"s": "gone"}));
    assert!(fails(&answer), "{answer}");
    assert!(text(&answer).contains("mcp__case__t2"), "{answer}");
    assert_eq!(came(&story.log, r#""method":"tools/call""#), 1, "the removed tool was called");
    assert_eq!(story.status()["generation"], 1);
    let ended = story.end();
    assert_eq!(before + ended.notices(), 1, "notices downstream");
    assert_eq!(fake_log::spawns(&ended.log), 1);
}
