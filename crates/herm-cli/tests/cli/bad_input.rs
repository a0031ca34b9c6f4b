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
    insta::assert_snapshot!(sandbox.run(&["--config", "nowhere.yaml", "list"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--json", "--config", ".", "check"]), @"");
    sandbox.write("big.yaml", &vec![b'#'; 50 << 20]);
    insta::assert_snapshot!(sandbox.run(&["--config", "big.yaml", "test"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--config", "/dev/zero", "test"]), @"");
    insta::assert_snapshot!(sandbox.run(&["--profile", "../x", "list"]), @"");
}

#[test]
fn binary_junk() {
    let junk: Vec<u8> =
        (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    insta::assert_snapshot!(checked(&junk), @"");
    insta::assert_snapshot!(checked(b"\x7fELF\x02\x01\0\0\xff\xfe"), @"");
}

#[test]
fn tabs() {
    insta::assert_snapshot!(checked(b"mcp_servers:\n\tfs:\n\t\tcommand: cat\n"), @"");
}

#[test]
fn duplicate_keys() {
    insta::assert_snapshot!(
        checked(b"mcp_servers:\n  fs:\n    command: cat\nmcp_servers:\n  b:\n    command: cat\n"),
        @""
    );
}

#[test]
fn aliases_that_explode() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let refs = format!("*a{}", level - 1);
        writeln!(bomb, "a{level}: &a{level} [{}]", [refs.as_str(); 9].join(", ")).unwrap();
    }
    writeln!(bomb, "mcp_servers: {{fs: {{command: cat, args: *a11}}}}").unwrap();
    insta::assert_snapshot!(checked(bomb.as_bytes()), @"");
}

#[test]
fn a_slash_in_a_name() {
    let sandbox = Sandbox::with("mcp_servers:\n  a/b:\n    command: cat\n");
    insta::assert_snapshot!(sandbox.run(&["check"]), @"");
    insta::assert_snapshot!(sandbox.run(&["test", "a/b"]), @"");
}

#[test]
fn nothing_at_all() {
    let sandbox = Sandbox::with("");
    insta::assert_snapshot!(sandbox.run(&["list"]), @"");
    insta::assert_snapshot!(sandbox.run(&["check"]), @"");
    insta::assert_snapshot!(sandbox.run(&["tools"]), @"");
}
