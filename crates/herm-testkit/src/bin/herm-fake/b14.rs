//! B14 Pages and notices. Tools are `t1`, `t2`, ... two a page, and all of them echo `s`.

use serde_json::Value;

use crate::message::{Message, error, result};
use crate::peer::Peer;
use crate::{pause, standard};

const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// (a) `p2`, `p3`, end: six tools.
pub(crate) fn three_pages(peer: &mut Peer) -> u8 {
    serve(peer, |id, cursor| match cursor {
        "" => page(id, 1, Some("p2")),
        "p2" => page(id, 2, Some("p3")),
        "p3" => page(id, 3, None),
        _ => error(id, -32602, "unknown cursor"),
    })
}

/// (b) The same page with the same cursor for ever.
pub(crate) fn same_cursor(peer: &mut Peer) -> u8 {
    serve(peer, |id, _| page(id, 1, Some("p2")))
}

/// (c) The cursors go `p2`, `p3`, `p2`, and so on.
pub(crate) fn cursors_in_a_circle(peer: &mut Peer) -> u8 {
    serve(peer, |id, cursor| match cursor {
        "p2" => page(id, 2, Some("p3")),
        "p3" => page(id, 3, Some("p2")),
        _ => page(id, 1, Some("p2")),
    })
}

/// (d) A new cursor and new tools each time, without end.
pub(crate) fn new_cursor_for_ever(peer: &mut Peer) -> u8 {
    serve(peer, |id, cursor| {
        let number: usize = cursor.trim_start_matches('p').parse().unwrap_or(1);
        page(id, number, Some(&format!("p{}", number + 1)))
    })
}

/// (e) The second page is an error.
pub(crate) fn second_page_fails(peer: &mut Peer) -> u8 {
    serve(peer, |id, cursor| match cursor {
        "" => page(id, 1, Some("p2")),
        _ => error(id, -32602, "cursor expired"),
    })
}

/// (f) Five pages that take 2 s each.
pub(crate) fn slow_pages(peer: &mut Peer) -> u8 {
    serve(peer, |id, cursor| {
        pause(2000);
        let number: usize = cursor.trim_start_matches('p').parse().unwrap_or(1);
        let next = (number < 5).then(|| format!("p{}", number + 1));
        page(id, number, next.as_deref())
    })
}

/// (g) A call to `t1` is followed by a notice; the listing that it causes takes 300 ms, and 200
/// more notices come in its first 100 ms. Once they are out the list is `t1` to `t4`, before `t1`
/// and `t2`.
pub(crate) fn storm_of_notices(peer: &mut Peer) -> u8 {
    let mut noticed = false;
    let mut stormed = false;
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("tools/list") {
            // The content is fixed when the listing begins, so that the notices have a cause.
            let reply = if stormed { result(id, &tools(1..5, None)) } else { page(id, 1, None) };
            if noticed && !stormed {
                storm(peer);
                stormed = true;
            }
            if noticed {
                pause(200);
            }
            peer.send(&reply);
        } else {
            standard::answer(peer, &message);
            if message.asks("tools/call").is_some() && !noticed {
                noticed = true;
                peer.send(NOTICE);
            }
        }
    }
    0
}

fn storm(peer: &Peer) {
    for step in 0..200 {
        peer.send(NOTICE);
        if step % 2 == 0 {
            pause(1);
        }
    }
}

/// (h) A notice before the client's `initialized`, and one between request and reply of the first
/// listing, after which the list is `t1` to `t4`.
pub(crate) fn early_notices(peer: &mut Peer) -> u8 {
    let mut listed = false;
    while let Some(message) = peer.next() {
        if message.method == "initialize" {
            standard::answer(peer, &message);
            peer.send(NOTICE);
        } else if let Some(id) = message.asks("tools/list") {
            let reply = if listed { result(id, &tools(1..5, None)) } else { page(id, 1, None) };
            if !listed {
                peer.send(NOTICE);
            }
            listed = true;
            peer.send(&reply);
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

/// (i) A call to `t1` is answered only after the refresh that its own notice causes, 300 ms later.
/// The refreshed list is `t1` alone, and a call to `t2` is unknown from then on.
pub(crate) fn refresh_during_a_call(peer: &mut Peer) -> u8 {
    let mut pending: Option<Message> = None;
    let mut changed = false;
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("tools/list") {
            changed |= pending.is_some();
            peer.send(&if changed { result(id, &tools(1..2, None)) } else { page(id, 1, None) });
            if let Some(call) = pending.take() {
                pause(300);
                standard::answer(peer, &call);
            }
        } else if message.asks("tools/call").is_some() && message.tool() == "t1" && !changed {
            pending = Some(message);
            peer.send(NOTICE);
        } else if let Some(id) = message.asks("tools/call")
            && changed
            && message.tool() != "t1"
        {
            peer.send(&error(id, -32602, "unknown tool"));
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

/// (e), later: the first list is whole, and a call to `t1` is followed by a notice, after which the
/// second page is an error.
pub(crate) fn failing_refresh(peer: &mut Peer) -> u8 {
    let mut noticed = false;
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("tools/list") {
            let first = message.params["cursor"].is_null();
            peer.send(&match (noticed, first) {
                (false, _) => page(id, 1, None),
                (true, true) => page(id, 2, Some("p2")),
                (true, false) => error(id, -32602, "cursor expired"),
            });
        } else {
            standard::answer(peer, &message);
            if message.asks("tools/call").is_some() && !noticed {
                noticed = true;
                peer.send(NOTICE);
            }
        }
    }
    0
}

/// An ordinary server but for its list: `list` gives the reply for an id token and a cursor.
fn serve(peer: &mut Peer, list: impl Fn(&str, &str) -> String) -> u8 {
    while let Some(message) = peer.next() {
        if let Some(id) = message.asks("tools/list") {
            let cursor = message.params["cursor"].as_str().unwrap_or_default();
            peer.send(&list(id, cursor));
        } else {
            standard::answer(peer, &message);
        }
    }
    0
}

/// Page `number`, from 1, of two tools.
fn page(id: &str, number: usize, next: Option<&str>) -> String {
    result(id, &tools(number * 2 - 1..number * 2 + 1, next))
}

fn tools(numbers: std::ops::Range<usize>, next: Option<&str>) -> String {
    let tools: Vec<String> =
        numbers.map(|n| standard::ECHO.replacen("echo", &format!("t{n}"), 1)).collect();
    let cursor = next.map(|next| format!(r#","nextCursor":{}"#, Value::from(next)));
    format!(r#"{{"tools":[{}]{}}}"#, tools.join(","), cursor.unwrap_or_default())
}
