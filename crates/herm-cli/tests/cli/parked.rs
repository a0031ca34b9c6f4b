//! A server that was given up for now, and comes back once what ailed it is mended.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use herm_testkit::{Sandbox, fake, fake_log, wait_until};
use serde_json::Value;

use crate::client::{Client, SOON};
use crate::control::{document, run};

/// An entry whose program fails until it is mended.
struct Late {
    sandbox: Sandbox,
    program: PathBuf,
    log: PathBuf,
}

impl Late {
    fn new(more: &str) -> Self {
        let sandbox = Sandbox::new();
        let (program, log) = (sandbox.root().join("late-server"), sandbox.root().join("late.log"));
        sandbox
            .config(&format!("mcp_servers:\n  late: {{command: '{}'{more}}}\n", program.display()));
        let late = Self { sandbox, program, log };
        late.install("exit 3");
        late
    }

    /// Puts the program in its place: the scripted server, after these lines of shell.
    fn install(&self, before: &str) {
        let server = fake("good", &self.log).join("' '");
        let text = format!("#!/bin/sh\n{before}\nexec '{server}'\n");
        // Whole from the first moment: a host may be about to start it.
        let draft = self.program.with_extension("draft");
        std::fs::write(&draft, text).unwrap();
        std::fs::set_permissions(&draft, PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::rename(&draft, &self.program).unwrap();
    }

    fn call(&self) -> (String, Option<i32>) {
        let (out, err, code) = run(&self.sandbox, &["call", "late.echo", "s=hi"]);
        (out + &err, code)
    }

    fn state(&self) -> Value {
        let (status, _) = document(&self.sandbox, &["status", "late"]);
        status["hosts"][0]["servers"][0].clone()
    }
}

/// Its test said "connected", and each call after it was refused with the old cause for minutes.
#[test]
fn a_test_that_goes_well_frees_a_parked_server() {
    let late = Late::new(", supervision: {park_after: 1}");
    assert_eq!(late.call().1, Some(7));
    let (said, code) = late.call();
    assert!(code == Some(7) && said.contains("parked"), "{said}");
    late.install("");
    assert_eq!(run(&late.sandbox, &["test", "late"]).2, Some(0));
    for _ in 0..3 {
        assert_eq!(late.call().1, Some(0));
    }
}

/// The one call in five minutes that may was never the first of a process.
#[test]
fn the_first_call_after_the_back_off_is_let_through() {
    let late = Late::new(", supervision: {park_after: 1, backoff_initial: 0.2}");
    assert_eq!(late.call().1, Some(7));
    late.install("");
    wait_until(SOON, "a call is let through", || (late.call().1 == Some(0)).then_some(()));
    assert_eq!(late.call().1, Some(0), "and the next as well");
}

#[test]
fn a_host_takes_up_a_test_that_went_well() {
    let late = Late::new(", supervision: {park_after: 1}");
    let mut command = late.sandbox.herm();
    command.arg("serve");
    let mut client = Client::open(command);
    wait_until(SOON, "it is parked", || (late.state()["state"] == "parked").then_some(()));
    late.install("");
    assert_eq!(run(&late.sandbox, &["test", "late"]).2, Some(0));
    client.tools(&["mcp__late__echo"]);
    assert_eq!(late.state()["state"], "ready");
    assert_eq!(fake_log::spawns(&late.log), 2, "the test's and the host's");
    assert_eq!(client.close().0.code(), Some(0));
}

/// A failure that is one program's matter is kept nowhere, and a test that went well was not heard of.
#[test]
fn a_host_takes_up_a_test_of_a_program_that_was_not_there() {
    let late = Late::new(", supervision: {park_after: 1}");
    std::fs::remove_file(&late.program).unwrap();
    let mut command = late.sandbox.herm();
    command.arg("serve");
    let mut client = Client::open(command);
    wait_until(SOON, "it is parked", || (late.state()["state"] == "parked").then_some(()));
    late.install("");
    assert_eq!(run(&late.sandbox, &["test", "late"]).2, Some(0));
    client.tools(&["mcp__late__echo"]);
    assert_eq!(late.state()["state"], "ready");
    assert_eq!(fake_log::spawns(&late.log), 2, "the test's and the host's");
    assert_eq!(client.close().0.code(), Some(0));
}

/// A wrong token was mended in `.env`, and the refusal of the old one was told for five minutes.
#[test]
fn another_value_of_a_variable_frees_it() {
    let late = Late::new(", env: {TOKEN: '${MY_TOKEN}'}, supervision: {backoff_initial: 60}");
    late.install("[ \"$TOKEN\" = good ] || exit 3");
    late.sandbox.write("herm/.env", "MY_TOKEN=bad\n");
    assert_eq!(late.call().1, Some(7));
    let (said, code) = late.call();
    assert!(code == Some(7) && said.contains("backoff"), "{said}");
    late.sandbox.write("herm/.env", "MY_TOKEN=good\n");
    assert_eq!(late.call().1, Some(0));
    let kept = std::fs::read_to_string(late.sandbox.home().join("state/supervision.json"));
    assert!(!kept.unwrap_or_default().contains("good"));
}

/// A shell without the right PATH, or without a variable, parked a server for every program of the home.
#[test]
fn what_is_wrong_with_one_programs_surroundings_is_nobody_elses_matter() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let server = fake("good", &log).join("' '");
    let folder = sandbox.root().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let script = sandbox.write("bin/of-the-path", format!("#!/bin/sh\nexec '{server}'\n"));
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.config("mcp_servers:\n  a: {command: of-the-path, env: {TOKEN: '${TOK}'}}\n");
    let call = |token: Option<&str>, path: bool| {
        let mut command = sandbox.herm();
        command.args(["call", "a.echo", "s=hi"]).envs(token.map(|token| ("TOK", token)));
        if path {
            let paths = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{paths}", folder.display()));
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for _ in 0..2 {
        let (code, said) = call(None, true);
        assert!(code == Some(2) && said.contains("TOK"), "{code:?}: {said}");
        let (code, said) = call(Some("t"), false);
        assert!(code == Some(7) && said.contains("was not found"), "{code:?}: {said}");
        assert_eq!(call(Some("t"), true).0, Some(0));
    }
}
