use std::fmt::Write;

use super::*;

fn yaml(text: &str) -> Result<Node, Flaw> {
    read(text.as_bytes(), Format::Yaml)
}

fn json(text: &str) -> Result<Node, Flaw> {
    read(text.as_bytes(), Format::Json)
}

fn at(line: usize, column: usize) -> Place {
    Place { line, column }
}

fn dig<'a>(node: &'a Node, path: &[&str]) -> &'a Node {
    path.iter().fold(node, |node, key| node.mapping().unwrap().get(key).unwrap())
}

#[test]
fn scalars_keep_their_source_text_and_place() {
    let tree = yaml("a:\n  b: 1.10\n  c: '8080'\n  d: yes\n  e:\n").unwrap();
    assert_eq!(dig(&tree, &["a", "b"]).text(), Some("1.10"));
    assert_eq!(dig(&tree, &["a", "b"]).place, at(2, 6));
    assert_eq!(dig(&tree, &["a", "c"]).kind(), "text");
    assert_eq!(dig(&tree, &["a", "d"]).text(), Some("yes"));
    assert!(dig(&tree, &["a", "e"]).is_null());
}

#[test]
fn a_repeated_key_is_noted_with_both_places() {
    for (tree, first, again) in [
        (yaml("x: 1\ny: 2\nx: 3\n"), at(1, 1), at(3, 1)),
        (json("{\"x\": 1,\n \"y\": 2, \"x\": 3}"), at(1, 2), at(2, 10)),
    ] {
        let Value::Mapping(mapping) = tree.unwrap().value else { panic!("no mapping") };
        assert_eq!(mapping.repeats, [Repeat { key: "x".into(), first, again }]);
        assert_eq!(mapping.get("x").unwrap().text(), Some("1"));
    }
}

#[test]
fn a_tab_in_the_indentation_is_named_as_such() {
    for text in ["a:\n\tb: 1\n", "a:\n  \tb: 1\n  c: 2\n", "a:\n  b: 1\n\tc: 2\n"] {
        let flaw = yaml(text).unwrap_err();
        assert!(flaw.message.contains("tab"), "{text:?}: {flaw:?}");
    }
    assert_eq!(yaml("a:\n\tb: 1\n").unwrap_err().place, Some(at(2, 1)));
    assert!(json("{\n\t\"a\":\t1\n}").is_ok());
}

#[test]
fn a_bracket_that_is_not_closed_is_pointed_at() {
    for (text, place) in [
        ("a: 1\nbad: [unclosed\n", at(2, 6)),
        ("a:\n  b: {c: 1, d: [x, y]\n", at(2, 6)),
        ("a: [1,\n  {x: 1\n", at(2, 3)),
    ] {
        let flaw = yaml(text).unwrap_err();
        assert_eq!(flaw.place, Some(place), "{text:?}: {flaw:?}");
        assert!(flaw.message.ends_with("is not closed"), "{flaw:?}");
    }
}

#[test]
fn a_bare_variable_in_a_flow_mapping_is_answered_with_what_to_do() {
    let flaw = yaml("env: {A: ${B}}\n").unwrap_err();
    assert!(flaw.hint.unwrap().contains("quotes"));
}

#[test]
fn junk_ends_with_one_flaw_and_its_place() {
    let flaw = read(b"a: 1\nb: \xff\xfe", Format::Yaml).unwrap_err();
    assert_eq!((flaw.place, flaw.message.as_str()), (Some(at(2, 4)), "the file is not UTF-8 text"));
    let flaw = read(b"\x7fELF\x02\x01\0\0", Format::Yaml).unwrap_err();
    assert_eq!(flaw.place, Some(at(1, 1)));
    assert!(yaml("a: [1, 2").is_err());
    assert!(yaml("a: 1\n---\nb: 2\n").unwrap_err().message.contains("second"));
    assert!(yaml("").unwrap().is_null());
}

#[test]
fn a_file_over_four_mebibytes_is_refused_unread() {
    let flaw = read(&vec![b'a'; MAX_BYTES + 1], Format::Yaml).unwrap_err();
    assert!(flaw.message.contains("4 MiB"));
}

#[test]
fn aliases_and_merge_keys_work() {
    let tree = yaml("b: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\nd: *b\n").unwrap();
    assert_eq!(dig(&tree, &["c", "x"]).text(), Some("1"));
    assert_eq!(dig(&tree, &["c", "y"]).text(), Some("3"));
    assert_eq!(dig(&tree, &["d", "y"]).text(), Some("2"));
    assert!(yaml("a: &a [*a]").is_err());
}

#[test]
fn aliases_that_explode_are_refused() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let list = vec![format!("*a{}", level - 1); 9].join(",");
        writeln!(text, "a{level}: &a{level} [{list}]").unwrap();
    }
    assert!(yaml(&text).unwrap_err().message.contains("aliases"));

    let mut chain = String::from("a0: &a0 [x]\n");
    for level in 1..200 {
        writeln!(chain, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    assert!(yaml(&chain).unwrap_err().message.contains("deep"));
}

#[test]
fn depth_and_number_of_values_are_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(json(&deep).unwrap_err().message.contains("deep"));
        assert!(yaml(&deep).is_err());
    }
    let wide = format!("[{}1]", "1,".repeat(MAX_VALUES));
    assert!(json(&wide).unwrap_err().message.contains("more than"));
    assert!(yaml(&wide).unwrap_err().message.contains("more than"));
}

#[test]
fn json_of_editors_is_read_with_comments_and_escapes() {
    let tree =
        json("// mine\n{\"a\": \"x\\/\\u00e9\\ud83d\\ude00\", /* b */ \"n\": -1.50e3,}").unwrap();
    assert_eq!(dig(&tree, &["a"]).text(), Some("x/é😀"));
    assert_eq!(dig(&tree, &["n"]).text(), Some("-1.50e3"));
    assert_eq!(dig(&tree, &["n"]).place, at(2, 45));
    for bad in ["{", "{\"a\"}", "[1 2]", "{\"a\":1}x", "[nan]", "\"\\ud800\"", "/", "[,]", "{a:1}"]
    {
        assert!(json(bad).is_err(), "{bad}");
    }
}
