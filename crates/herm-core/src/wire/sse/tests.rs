use super::*;

fn parse(chunks: &[&[u8]], limit: usize) -> (Vec<Found>, Option<String>) {
    let mut parser = Parser::new(limit);
    let mut found = Vec::new();
    for chunk in chunks {
        parser.feed(chunk, &mut |f| found.push(f));
    }
    (found, parser.last_id().map(str::to_owned))
}

fn all(text: &str) -> Vec<Found> {
    parse(&[text.as_bytes()], 1 << 20).0
}

fn event(event: &str, data: &str, id: Option<&str>) -> Found {
    Found::Event(Event {
        event: event.to_owned(),
        data: data.to_owned(),
        id: id.map(str::to_owned),
    })
}

#[test]
fn lines_end_in_any_of_the_three_ways() {
    for text in ["data: a\ndata:b\n\n", "data: a\r\ndata:b\r\n\r\n", "data: a\rdata:b\r\r"] {
        assert_eq!(all(text), [event("message", "a\nb", None)], "{text:?}");
    }
}

#[test]
fn fields_are_read_as_the_standard_says() {
    for (text, found) in [
        ("\u{feff}data: a\n\n", vec![event("message", "a", None)]),
        ("data: \u{feff}a\n\n", vec![event("message", "\u{feff}a", None)]),
        ("data: a\n\n\u{feff}data: b\n\n", vec![event("message", "a", None)]),
        (": comment\ndata:  a\n: more\n\n", vec![event("message", " a", None)]),
        ("event: endpoint\ndata: /m?s=1\n\n", vec![event("endpoint", "/m?s=1", None)]),
        ("event: x\n\ndata: a\n\n", vec![event("message", "a", None)]),
        ("data\ndata\n\n", vec![event("message", "\n", None)]),
        ("data:\n\n", vec![event("message", "", None)]),
        ("foo: bar\ndata: a\nDATA: b\n data: c\n\n", vec![event("message", "a", None)]),
        ("data: a\n", vec![]),
        ("data: a\n\ndata: b", vec![event("message", "a", None)]),
        ("\n\n\n", vec![]),
    ] {
        assert_eq!(all(text), found, "{text:?}");
    }
}

#[test]
fn an_id_without_data_is_the_priming_event_and_ids_stay() {
    assert_eq!(
        all("id: 1\n\ndata: a\n\nid: 2\ndata: b\n\nid: 3\0\ndata: c\n\nid\ndata: d\n\n"),
        [
            event("message", "", Some("1")),
            event("message", "a", Some("1")),
            event("message", "b", Some("2")),
            event("message", "c", Some("2")),
            event("message", "d", None),
        ]
    );
}

#[test]
fn an_event_that_was_cut_off_does_not_move_the_last_id() {
    let (found, last) = parse(&[b"id: 1\ndata: a\n\nid: 2\ndata: b\n"], 100);
    assert_eq!(found, [event("message", "a", Some("1"))]);
    assert_eq!(last.as_deref(), Some("1"));
}

#[test]
fn retry_takes_digits_only() {
    assert_eq!(
        all("retry: 500\nretry: 5s\nretry: -1\nretry:\nretry: 99999999999999999999999\n\n"),
        [Found::Retry(500)]
    );
}

#[test]
fn bytes_that_are_no_text_do_not_cost_the_event() {
    let (found, _) = parse(&[b"data: caf\xe9\n\n"], 100);
    assert_eq!(found, [event("message", "caf\u{fffd}", None)]);
}

#[test]
fn an_event_over_the_bound_is_reported_at_once_and_costs_only_itself() {
    let long = format!("data: {{\"id\":7,{}", "x".repeat(9000));
    let mut parser = Parser::new(8000);
    let mut found = Vec::new();
    parser.feed(long.as_bytes(), &mut |f| found.push(f));
    let [Found::Oversized(head)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(head.len(), KEPT);
    assert!(head.starts_with(b"{\"id\":7,x"));
    for _ in 0..1000 {
        parser.feed(&[b'x'; 1000], &mut |_| panic!("reported twice"));
    }
    assert!(parser.line.capacity() < 20_000, "what is dropped is not kept");
    found.clear();
    parser.feed(b"\ndata: more\n\ndata: next\n\n", &mut |f| found.push(f));
    assert_eq!(found, [event("message", "next", None)]);
}

#[test]
fn many_lines_of_data_are_bounded_together() {
    let (found, _) = parse(&[b"data: 1234\ndata: 5678\ndata: 9\n\ndata: 123456789\n\n"], 9);
    assert_eq!(
        found,
        [event("message", "123456789", None)].into_iter().fold(
            vec![Found::Oversized(b"1234\n5678\n9".to_vec())],
            |mut all, next| {
                all.push(next);
                all
            },
        )
    );
    let comment = format!(":{}\ndata: a\n\n", "c".repeat(5000));
    assert_eq!(parse(&[comment.as_bytes()], 9).0, [event("message", "a", None)]);
}

#[test]
fn events_are_the_same_however_the_bytes_are_cut() {
    let parts: [&[u8]; 18] = [
        b"\xef\xbb\xbf", b"data", b":", b" ", b"a", b"\n", b"\r", b"\r\n", b"id: 1", b"retry: 20",
        b"event: e", b"\0", b"\xc3\xa9", b"\xff", b"\n\n", b"data: x\n", b"\r\n\r\n",
        b"data: a line that is over the limit of this parser, by some, for more than its name takes",
    ];
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.usize(..20))
            .flat_map(|_| parts[random.usize(..parts.len())].iter().copied())
            .collect();
        let whole = parse(&[&bytes], 20);
        let mut cut: Vec<&[u8]> = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (chunk, tail) = rest.split_at(random.usize(1..=rest.len().min(5)));
            cut.push(chunk);
            rest = tail;
        }
        assert_eq!(parse(&cut, 20), whole, "{:?}", String::from_utf8_lossy(&bytes));
    }
}
