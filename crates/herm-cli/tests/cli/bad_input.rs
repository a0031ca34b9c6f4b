//! Configurations that nobody should have written: one clear message, the right status, no hang.

use std::fmt::Write as _;

use crate::sandbox::Sandbox;

fn checked(bytes: &[u8]) -> String {
    let sandbox = Sandbox::new();
    sandbox.write("home/config.yaml", bytes);
    let tools = sandbox.output(&["tools"]);
    assert_eq!(tools.status.code(), Some(2), "{}", sandbox.shown(&tools));
    sandbox.run(&["check"])
}

#[test]
fn files_that_cannot_be_read() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["--config", "nowhere.yaml", "list"]), @r"
    --- stderr
    error: `nowhere.yaml` cannot be read: no such file
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["--json", "--config", ".", "check"]), @r#"
    --- stdout
    {"v":1,"error":{"kind":"config","message":"`.` cannot be read: it is a directory","server":null,"tool":null,"hint":null,"retry_after_ms":null}}
    --- stderr
    error: `.` cannot be read: it is a directory
    --- exit 2
    "#);
    sandbox.write("big.yaml", &vec![b'#'; 50 << 20]);
    insta::assert_snapshot!(sandbox.run(&["--config", "big.yaml", "test"]), @r"
    --- stderr
    error: `big.yaml` has over 4194304 bytes, which is refused
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["--config", "/dev/zero", "test"]), @r"
    --- stderr
    error: `/dev/zero` cannot be read: it is no regular file
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["--profile", "../x", "list"]), @r"
    --- stderr
    error: `../x` cannot be the name of a profile: use letters, digits, `.`, `_` and `-`
    --- exit 2
    ");
}

#[test]
fn binary_junk() {
    let junk: Vec<u8> =
        (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    insta::assert_snapshot!(checked(&junk), @r"
    --- stdout
      ✗ DIR/home/config.yaml:1:2: the file is not UTF-8 text
      hint: save it as UTF-8
    --- stderr
    DIR/home/config.yaml: 1 to put right
    --- exit 2
    ");
    insta::assert_snapshot!(checked(b"\x7fELF\x02\x01\0\0\xff\xfe"), @r"
    --- stdout
      ✗ DIR/home/config.yaml:1:9: the file is not UTF-8 text
      hint: save it as UTF-8
    --- stderr
    DIR/home/config.yaml: 1 to put right
    --- exit 2
    ");
}

#[test]
fn tabs() {
    insta::assert_snapshot!(checked(b"mcp_servers:\n\tfs:\n\t\tcommand: cat\n"), @r"
    --- stdout
      ✗ DIR/home/config.yaml:2:1: a tab in the indentation
      2 |  fs:
          ^
      hint: YAML is indented with spaces only
    --- stderr
    DIR/home/config.yaml: 1 to put right
    --- exit 2
    ");
}

#[test]
fn duplicate_keys() {
    let twice = "mcp_servers:\n  fs:\n    command: cat\n    command: dog\nmcp_servers:\n  b:\n    command: cat\n";
    insta::assert_snapshot!(Sandbox::with(twice).run(&["check"]), @r"
    --- stdout
      ✗ DIR/home/config.yaml:4:5: server `fs`: `command`: the key `command` stands twice, first on line 3, column 5
      4 |     command: dog
              ^
      hint: remove or rename one of the two
      ✗ DIR/home/config.yaml:5:1: `mcp_servers`: the key `mcp_servers` stands twice, first on line 1, column 1
      5 | mcp_servers:
          ^
      hint: remove or rename one of the two
    --- stderr
    DIR/home/config.yaml: 2 to put right
    --- exit 2
    ");
}

#[test]
fn aliases_that_explode() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let refs = format!("*a{}", level - 1);
        writeln!(bomb, "a{level}: &a{level} [{}]", [refs.as_str(); 9].join(", ")).unwrap();
    }
    writeln!(bomb, "mcp_servers: {{fs: {{command: cat, args: *a11}}}}").unwrap();
    insta::assert_snapshot!(checked(bomb.as_bytes()), @r"
    --- stdout
      ✗ DIR/home/config.yaml:5:5: the aliases of this file expand to too much
      5 | a4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]
              ^
      hint: write the values out instead of repeating them by alias
    --- stderr
    DIR/home/config.yaml: 1 to put right
    --- exit 2
    ");
}

#[test]
fn a_slash_in_a_name() {
    let sandbox = Sandbox::with("mcp_servers:\n  a/b:\n    command: cat\n");
    insta::assert_snapshot!(sandbox.run(&["check"]), @r"
    --- stdout
      ✗ DIR/home/config.yaml:2:3: server `a/b`: a server name cannot contain '/'
      2 |   a/b:
            ^
      hint: rename the server
    --- stderr
    DIR/home/config.yaml: 1 to put right
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["test", "a/b"]), @r"
    --- stderr
    warning: the configuration has 1 error: `herm check` shows each
    error: MCP server 'a/b' is blocked: a server name cannot contain '/'
    hint: `herm check` shows each error with its line
    --- exit 4
    ");
}

#[test]
fn nothing_at_all() {
    let sandbox = Sandbox::with("");
    insta::assert_snapshot!(sandbox.run(&["list"]), @r"
    --- stderr
    `DIR/home/config.yaml` configures no servers
    --- exit 0
    ");
    insta::assert_snapshot!(sandbox.run(&["check"]), @r"
    --- stdout
      ✓ DIR/home/config.yaml: 0 servers, no errors
    --- exit 0
    ");
    insta::assert_snapshot!(sandbox.run(&["tools"]), @r"
    --- stderr
    `DIR/home/config.yaml` configures no servers
    --- exit 0
    ");
}
