use super::*;

#[test]
fn no_escape_reaches_a_terminal() {
    let cases: &[(&[u8], &str)] = &[
        (b"plain", "plain"),
        (b"\x1b[2J\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPq#0\x1b\\sixel", "sixel"),
        (b"\x1b(Bascii", "ascii"),
        (b"\x1bcreset", "reset"),
        ("\u{9b}31mred".as_bytes(), "red"),
        (b"a\tb\x08\x00c", "a bc"),
        (b"bad \xff utf", "bad \u{fffd} utf"),
        (b"cut\x1b", "cut"),
        (b"cut\x1b[12", "cut"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(plain(bytes), *expected, "{:?}", bytes.escape_ascii().to_string());
    }
}

#[test]
fn a_flood_leaves_its_end_only() {
    let tail = Tail::default();
    for n in 0..100_000 {
        tail.push(format!("line {n}\n").as_bytes());
    }
    assert_eq!(tail.locked().len(), KEEP);
    assert_eq!(tail.last_lines(2), ["line 99998", "line 99999"]);
    tail.push(&vec![b'x'; 3 * KEEP]);
    assert_eq!(tail.locked().len(), KEEP);
    assert_eq!(tail.last_lines(9), ["x".repeat(LINE_CHARS)]);
}

#[test]
fn blank_lines_and_a_progress_bar_do_not_hide_the_last_words() {
    let tail = Tail::default();
    tail.push(b"why\n 10%\r 50%\r 99%\r\n\n  \n");
    assert_eq!(tail.last_lines(2), [" 50%", " 99%"]);
    assert_eq!(tail.last_lines(9)[0], "why");
}
