use super::*;
use crate::wire::{ok_reply, request};

/// What a frame holds, a line for each message, then its fault.
fn story(frame: &[u8]) -> Vec<String> {
    let mut seen = Vec::new();
    let end = read(frame, &mut |incoming| seen.push(show(&incoming)));
    if let Err(BadFrame { why, names }) = end {
        seen.push(format!("bad: {why}{}", names.map_or_else(String::new, |id| format!(", {id}"))));
    }
    seen
}

fn show(incoming: &Incoming) -> String {
    let params = |params: &Option<Raw>| params.as_ref().map_or("-", |p| p.get()).to_owned();
    match incoming {
        Incoming::Reply { id, reply: Ok(result) } => format!("{id} ok {}", result.get()),
        Incoming::Reply { id, reply: Err(error) } => format!("{id} {error}"),
        Incoming::Unaddressed(error) => format!("unaddressed {error}"),
        Incoming::Stray => "stray".to_owned(),
        Incoming::Request { id, method, params: p } => {
            format!("request {} {method} {}", id.get(), params(p))
        }
        Incoming::Notification { method, params: p } => format!("notice {method} {}", params(p)),
    }
}

fn check(rows: &[(&str, &[&str])]) {
    for (frame, expected) in rows {
        assert_eq!(story(frame.as_bytes()), *expected, "{frame}");
    }
}

#[test]
fn a_reply_is_ours_in_any_spelling_of_its_id() {
    check(&[
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, &["7 ok {}"]),
        (r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, &["7 ok {}"]),
        (r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#, &["7 ok {}"]),
        (r#"{"result":null,"jsonrpc":"1.0","id":70e-1}"#, &["7 ok null"]),
        (r#"{"id":7,"result":[1e400]}"#, &["7 ok [1e400]"]),
        (r#"{"id":18446744073709551615,"result":1}"#, &["18446744073709551615 ok 1"]),
        (r#"{"id":-7,"result":{}}"#, &["stray"]),
        (r#"{"id":7.5,"result":{}}"#, &["stray"]),
        (r#"{"id":"+7","result":{}}"#, &["stray"]),
        (r#"{"id":"srv-1","result":{}}"#, &["stray"]),
        (r#"{"id":[7],"error":{"code":1,"message":"m"}}"#, &["stray"]),
        (r#"{"id":null,"result":{}}"#, &["stray"]),
    ]);
}

#[test]
fn an_error_of_any_shape_is_an_error() {
    check(&[
        (r#"{"id":7,"error":{"code":-32601,"message":"no"}}"#, &["7 no (-32601)"]),
        (r#"{"id":7,"error":{"code":"E","message":"no"}}"#, &["7 no (0)"]),
        (r#"{"id":7,"error":{"code":5.0}}"#, &["7  (5)"]),
        (r#"{"id":7,"error":"boom"}"#, &["7 boom (0)"]),
        (r#"{"id":7,"error":{"message":"\ud83d"}}"#, &["7 \u{fffd} (0)"]),
        (r#"{"id":7,"result":{},"error":{"code":1,"message":"wins"}}"#, &["7 wins (1)"]),
        (r#"{"id":7,"result":{},"error":null}"#, &["7 ok {}"]),
        (r#"{"id":null,"error":{"code":1,"message":"m"}}"#, &["unaddressed m (1)"]),
        (r#"{"error":{"code":1,"message":"m"}}"#, &["unaddressed m (1)"]),
    ]);
    let error = PeerError::read(
        &RawValue::from_string(r#"{"data":{ "a":1 },"code":1}"#.to_owned()).unwrap(),
    );
    assert_eq!(error.data().unwrap().get(), r#"{ "a":1 }"#);
}

#[test]
fn a_request_with_our_id_is_no_reply() {
    check(&[
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, &["request 7 ping -"]),
        (r#"{"id":"7","method":"ping","params":{"a":1}}"#, &[r#"request "7" ping {"a":1}"#]),
        (r#"{"id":7,"method":"ping","result":{}}"#, &["request 7 ping -"]),
        (r#"{"id":null,"method":"n/x","params":[1]}"#, &["notice n/x [1]"]),
        (r#"{"method":"n"}"#, &["notice n -"]),
        (r#"{"id":7,"method":null,"result":1}"#, &["7 ok 1"]),
    ]);
}

#[test]
fn the_last_of_repeated_keys_counts() {
    check(&[
        (r#"{"id":1,"id":7,"result":1,"result":2}"#, &["7 ok 2"]),
        (r#"{"\u0069d":7,"re\u0073ult":2,"\ud83d":0}"#, &["7 ok 2"]),
        (r#"{"id":7,"error":{"code":1},"error":null,"result":2}"#, &["7 ok 2"]),
    ]);
}

#[test]
fn several_messages_in_a_frame_are_all_read() {
    check(&[
        (
            r#"[{"id":1,"result":1},{"method":"n"},5,{"id":2}]"#,
            &["1 ok 1", "notice n -", "bad: not JSON-RPC, 2"],
        ),
        ("[]", &["bad: not JSON-RPC"]),
        (
            r#"{"id":1,"result":1}{"id":2,"result":2} {"id":3,"result":3}"#,
            &["1 ok 1", "2 ok 2", "3 ok 3"],
        ),
        (r#"{"level":"info"}{"id":2,"result":2}"#, &["2 ok 2", "bad: not JSON-RPC"]),
        (r#"{"id":1,"result":1}{"id":2,"resu"#, &["1 ok 1", "bad: not JSON, 2"]),
    ]);
}

#[test]
fn a_message_behind_a_banner_is_read_if_it_says_that_it_is_one() {
    check(&[
        (r#"ready on 3000{"jsonrpc":"2.0","id":7,"result":{}}"#, &["7 ok {}"]),
        (r#"[INFO] up {"result":{},"jsonrpc":"2.0","id":7}"#, &["7 ok {}"]),
        (
            r#"a{"jsonrpc":"2.0","method":"n"}b{"jsonrpc":"2.0","id":1,"result":1}"#,
            &["notice n -", "1 ok 1"],
        ),
        (r#"GET {"id":7,"method":"GET"}"#, &["bad: not JSON-RPC"]),
        ("ready on 3000", &["bad: not JSON"]),
        (r#"{ oops {"jsonrpc":"2.0","id":7,"result":{}}"#, &["7 ok {}"]),
        // Quoted inside a broken reply: somebody else's words.
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":{"jsonrpc":"2.0","id":8,"result":{}}"#,
            &["bad: not JSON, 7"],
        ),
    ]);
}

#[test]
fn what_is_no_message_is_bad_and_names_what_it_seems_to_answer() {
    check(&[
        ("", &[]),
        (" \t\r", &[]),
        ("\u{feff}", &[]),
        ("\u{feff} {\"id\":7,\"result\":1}\r", &["7 ok 1"]),
        ("5", &["bad: not JSON"]),
        (r#""text""#, &["bad: not JSON"]),
        ("null", &["bad: not JSON"]),
        (r#"{"level":"info","msg":"x"}"#, &["bad: not JSON-RPC"]),
        ("{}", &["bad: not JSON-RPC"]),
        (r#"{"id":7}"#, &["bad: neither result nor error, 7"]),
        (r#"{"id":7,"error":null}"#, &["bad: neither result nor error, 7"]),
        (r#"{"id":"x"}"#, &["bad: neither result nor error"]),
        (r#"{"id":7,"result":{"a":"#, &["bad: not JSON, 7"]),
        (r#"{"result":{"id":8,"a":[{"id":9}]}, "id" : "7" ,"x":nope}"#, &["bad: not JSON, 7"]),
        (r#"{"result":{"id":8,"a":"\"id\":9"#, &["bad: not JSON"]),
        (r#"{"result":{"id":8,"a":nope"#, &["bad: not JSON"]),
        (r#"{"id":12"#, &["bad: not JSON"]),
        (r#"{"id":7,"method":"ping""#, &["bad: not JSON"]),
        (r#"{"id":7,"result":"a	b"}"#, &["bad: not JSON, 7"]),
        (r#"[{"id":7,"result":"#, &["bad: not JSON, 7"]),
    ]);
    assert_eq!(story(b"{\"id\":7,\"result\":\"caf\xe9\"}"), ["7 ok \"caf\u{fffd}\""]);
}

#[test]
fn deep_and_odd_values_pass_as_they_are() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for result in [&*deep, "1e400", "123456789012345678901234567890.10", r#""\ud83d""#] {
        let frame = format!(r#"{{"id":7,"result":{result}}}"#);
        assert_eq!(story(frame.as_bytes()), [format!("7 ok {result}")]);
        let frame = format!(r#"{{"id":7,"x":{result},"error":{{"code":1,"data":{result}}}}}"#);
        assert_eq!(story(frame.as_bytes()), ["7  (1)"]);
    }
    assert_eq!(story("[".repeat(5000).as_bytes()), ["bad: not JSON"]);
}

#[test]
fn what_passes_through_stays_byte_for_byte() {
    let result = concat!(
        r#"{"z":1,"a":{ "_meta":{"x/y":[1,2.50,1e400]}, "b" :123456789012345678901234567890},"#,
        r#""content":[{"type":"new","\u0061":"\/\u00e9\ud83d \\"}],"a":2,"$defs":{}}"#
    );
    let reply = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
    read(reply.as_bytes(), &mut |incoming| {
        let Incoming::Reply { id, reply: Ok(raw) } = incoming else { panic!("{incoming:?}") };
        let id = RawValue::from_string(id.to_string()).unwrap();
        assert_eq!(ok_reply(&id, raw.get()), reply);
    })
    .unwrap();
    let asked = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{result}}}"#);
    read(asked.as_bytes(), &mut |incoming| {
        let Incoming::Request { method, params, .. } = incoming else { panic!("{incoming:?}") };
        assert_eq!(request(7, &method, params.unwrap().get()), asked);
    })
    .unwrap();
}

#[test]
fn no_mutation_of_a_good_frame_makes_it_panic() {
    let good: [&[u8]; 5] = [
        br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\u00e9\ud83d\ude00"}]}}"#,
        br#"[{"id":"7","error":{"code":-32601,"message":"m","data":{"supported":["x"]}}},{"method":"n"}]"#,
        "banner é{\"jsonrpc\":\"2.0\",\"id\":7.0,\"result\":1e400}".as_bytes(),
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":{\"\\\"\":[]}}",
        br#"{"id":7,"result":{"id":8,"#,
    ];
    let pieces: [&[u8]; 10] =
        [b"{", b"}", b"[", b"\"", b"\\", b"\\ud83d", b"\xff", b"{\"jsonrpc\"", b"\"id\":", b"\n"];
    let mut random = fastrand::Rng::with_seed(3);
    let mut read_all = 0;
    for _ in 0..10_000 {
        let mut frame = good[random.usize(..good.len())].to_vec();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..=frame.len());
            match random.u8(..4) {
                0 => frame.truncate(at),
                1 if at < frame.len() => frame[at] = random.u8(..),
                2 if at < frame.len() => drop(frame.remove(at)),
                _ => drop(frame.splice(at..at, pieces[random.usize(..pieces.len())].to_vec())),
            }
        }
        read_all += usize::from(read(&frame, &mut |_| {}).is_ok());
    }
    assert!((100..9_900).contains(&read_all), "{read_all}: the mutations prove nothing");
}

#[test]
fn hostile_frames_cost_no_more_than_their_length() {
    // Each of these would take minutes if a search started over for each part.
    for (part, count) in [
        ("{\"jsonrpc\":[", 100_000),
        ("x{\"jsonrpc\"", 100_000),
        ("x{\"id\":1}", 100_000),
        ("x{\"", 300_000),
        ("\"a\":", 200_000),
        ("{\"a\":", 200_000),
        ("\\\"", 400_000),
        ("\u{e9}[", 300_000),
        ("{\"id\":1,\"result\":1}", 50_000),
    ] {
        let frame = part.repeat(count);
        let _ = read(frame.as_bytes(), &mut |_| {});
        let _ = read(format!("{{{frame}").as_bytes(), &mut |_| {});
        let _ = read(format!("x{frame}").as_bytes(), &mut |_| {});
    }
}
