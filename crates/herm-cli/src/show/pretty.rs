//! JSON with line breaks, token for token: numbers and key order stay as they were written.

/// Deeper levels are not indented further, so that a hostile nesting cannot blow up the text.
const MAX_INDENT: usize = 32;

/// `json` (which must be valid) over several lines, two blanks a level.
pub(crate) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth: usize = 0;
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                out.push('"');
                copy_text(&mut rest, &mut out);
            }
            '{' | '[' => {
                out.push(c);
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = rest.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(',');
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    (0..depth.min(MAX_INDENT)).for_each(|_| out.push_str("  "));
}

/// Up to the quote that ends it.
fn copy_text(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = rest.next() {
        out.push(c);
        match c {
            '"' => return,
            '\\' => out.extend(rest.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn tokens_stay_as_they_are() {
        let json = r#"{"z":1.10,"a":[ ],"b":{},"n":12345678901234567890123,"t":"a\"{,:","l":[1,{"x":null}]}"#;
        insta::assert_snapshot!(pretty(json), @r#"
        {
          "z": 1.10,
          "a": [],
          "b": {},
          "n": 12345678901234567890123,
          "t": "a\"{,:",
          "l": [
            1,
            {
              "x": null
            }
          ]
        }
        "#);
        let back: serde_json::Value = serde_json::from_str(&pretty(json)).unwrap();
        assert_eq!(back, serde_json::from_str::<serde_json::Value>(json).unwrap());
    }

    #[test]
    fn a_hostile_nesting_stays_small() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(pretty(&deep).len() < 100 * deep.len());
    }
}
