//! Whatever a configuration holds, reading it ends: soon, without a panic, and with a message.

use herm_core::config::{Config, check, dotenv};

const FILES: [&str; 2] = ["config.yaml", "mcp.json"];

#[test]
fn bytes_of_any_kind_end_with_a_message() {
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..rng.usize(..200)).map(|_| rng.u8(..)).collect();
        for file in FILES {
            let checked = check(&bytes, file);
            let empty = checked.config.servers.is_empty();
            assert!(empty && (!checked.errors.is_empty() || !checked.config.unreadable));
        }
    }
}

#[test]
fn a_file_with_a_few_wrong_characters_never_panics() {
    const GOOD: &str = "default_protocol: auto\nmcp_servers:\n  a: &a\n    command: \"x\\n\"\n    args: [-y, 'b c', 1]\n    \
        env: {A: '${B:-c}'}\n    tools: {include: [a*]}\n  b:\n    <<: *a\n    lazy: yes # c\n  c:\n    url: https://h/\n    \
        ssl_verify: |\n      x\n";
    const BITS: [char; 24] = [
        '{', '}', '[', ']', ':', ',', '\n', ' ', '-', '&', '*', '!', '|', '>', '\'', '"', '%', '@',
        '`', '#', '?', '\t', '<', '\\',
    ];
    assert_eq!(check(GOOD.as_bytes(), "config.yaml").errors, []);
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..4_000 {
        let mut text: Vec<char> = GOOD.chars().collect();
        for _ in 0..rng.usize(1..6) {
            let at = rng.usize(..text.len());
            match rng.u8(..3) {
                0 => text[at] = BITS[rng.usize(..BITS.len())],
                1 => text.insert(at, BITS[rng.usize(..BITS.len())]),
                _ => drop(text.remove(at)),
            }
        }
        let text: String = text.into_iter().collect();
        for file in FILES {
            let checked = check(text.as_bytes(), file);
            for issue in checked.errors.iter().chain(&checked.warnings) {
                assert!(!issue.message.is_empty() && issue.line != Some(0), "{issue:?}\n{text}");
            }
            let Config { servers, unreadable, .. } = checked.config;
            assert!(!unreadable || servers.is_empty());
        }
        drop(dotenv::read(&text, ".env"));
    }
}

/// Shapes that make careless readers quadratic or deep.
#[test]
fn large_files_of_one_shape_end_too() {
    let limit = 4 << 20;
    for unit in [
        "[", "{", "- ", "? ", "a:\n", "a: b\n", "\"", "'", "&a ", "*a ", "!", "#", "\n", "[[],",
        "{a: ", "-\n", "| ", "{\"a\":", "\\", "/*", "x ",
    ] {
        let text = unit.repeat((1 << 20) / unit.len());
        for file in FILES {
            let checked = check(text.as_bytes(), file);
            assert!(checked.errors.len() <= 201, "{unit}");
        }
    }
    let over = vec![b' '; limit + 1];
    assert!(check(&over, "config.yaml").errors[0].message.contains("4 MiB"));
}
