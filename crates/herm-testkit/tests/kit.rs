//! The test kit does what the tests of the other crates lean on.
#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use herm_testkit::{Running, Sandbox, fake, fake_http, fake_log, processes_with, real, wait_until};

const FAKE: &str = env!("CARGO_BIN_EXE_herm-fake");
const HOSTILE: &str = env!("CARGO_BIN_EXE_herm-hostile");
const LIMIT: Duration = Duration::from_secs(20);
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"kit","version":"0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"s":"hello"}}}"#;

/// All that a server writes to these lines, until it ends by itself at the end of its input.
fn talk(sandbox: &Sandbox, line: &[String], messages: &[&str]) -> String {
    let mut command = sandbox.command(&line[0]);
    command.args(&line[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the server starts");
    let mut input = child.stdin.take().expect("stdin is a pipe");
    let text = messages.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the server ends");
    writer.join().expect("the writer ends").expect("the server reads");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_legacy_script_opens_and_ends_with_its_input() {
    let sandbox = Sandbox::new();
    for script in ["good", "legacy", "ask", "b08", "b11", "b14a", "b14e", "b14h", "b16", "b17"] {
        let log = sandbox.root().join(script);
        let said = talk(&sandbox, &fake(script, &log), &[INITIALIZE, INITIALIZED, LIST, CALL]);
        assert!(said.contains("protocolVersion"), "{script} did not open: {said:.300}");
        assert!(said.contains("\"tools\":["), "{script} did not list: {said:.300}");
        assert!(said.contains("\"id\":3"), "{script} did not answer the call: {said:.300}");
        assert_eq!(fake_log::spawns(&log), 1, "{script}");
        let last = fake_log::read(&log).pop().expect("the log has entries");
        assert_eq!((last.event.as_str(), &last.data["code"]), ("exit", &0.into()), "{script}");
    }
}

#[test]
fn modern_script_refuses_the_handshake() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let said = talk(&sandbox, &fake("modern", &log), &[INITIALIZE]);
    assert!(said.contains("-32022") && said.contains("2026-07-28"), "{said}");
}

#[test]
fn missed_duties_of_the_client_are_failed_checks() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let said = talk(&sandbox, &fake("b11", &log), &[INITIALIZE, INITIALIZED]);
    assert!(said.contains("\"id\":\"srv-1\""), "{said}");
    let check = fake_log::read(&log).into_iter().find(|entry| entry.event == "check");
    let check = check.expect("the unanswered ping was judged").data;
    assert_eq!((&check["name"], &check["ok"]), (&"ping-before-open".into(), &false.into()));
}

#[test]
fn http_script_says_where_it_listens_and_is_gone_on_drop() {
    let sandbox = Sandbox::new();
    let marker = format!("kit-http-{}", std::process::id());
    let mut command = sandbox.command(FAKE);
    command.args(["good", "--http", "0", "--marker", &marker]);
    let server = Running::start(command);
    assert_eq!(processes_with(&marker), [server.pid()]);
    let said = post(server.url(), INITIALIZE);
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("protocolVersion"), "{said}");
    drop(server);
    wait_until(LIMIT, "the server is gone", || processes_with(&marker).is_empty().then_some(()));
}

#[test]
fn hostile_server_has_all_its_modes_and_no_other() {
    let sandbox = Sandbox::new();
    let output = sandbox.command(HOSTILE).arg("--list").output().expect("it runs");
    let modes = String::from_utf8_lossy(&output.stdout).lines().count();
    assert_eq!(modes, 57);
    let status = sandbox.command(HOSTILE).arg("no-such-mode").stderr(Stdio::null()).status();
    assert_eq!(status.expect("it runs").code(), Some(2));
}

#[test]
fn cells_of_the_zoo_differ() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    for (cell, expected) in [
        ("reply=json", "application/json\r\n"),
        ("reply=sse-cr", "event: message\rdata: {"),
        ("reply=sse-prime", "id: 1\ndata: \n\n"),
        ("post=403", "HTTP/1.1 403"),
        ("post=308-foreign", "Location: http://127.0.0.1:"),
    ] {
        let server = fake_http(&sandbox, "b13", &[cell], &log);
        let said = post(server.url(), LIST);
        assert!(said.contains(expected), "{cell} said {said}");
    }
}

#[test]
fn forgotten_session_is_refused_and_the_next_one_is_served() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let server = fake_http(&sandbox, "b12", &["case=a"], &log);
    assert!(post(server.url(), INITIALIZE).contains("Mcp-Session-Id: s1"));
    assert!(post(server.url(), CALL).starts_with("HTTP/1.1 404"));
    assert!(post(server.url(), INITIALIZE).contains("Mcp-Session-Id: s2"));
    let executed = fake_log::read(&log).iter().filter(|e| e.data["name"] == "executed").count();
    assert_eq!(executed, 0);
}

#[test]
fn real_servers_are_installed_and_speak() {
    let sandbox = Sandbox::new();
    let mut lines = vec![real::everything(), real::filesystem(sandbox.root())];
    lines.extend(real::Python::ALL.map(real::python));
    for line in lines {
        let said = talk(&sandbox, &line, &[INITIALIZE]);
        assert!(said.contains("protocolVersion"), "{line:?} said {said:?}");
    }
}

#[test]
fn real_servers_listen() {
    let sandbox = Sandbox::new();
    let servers = [
        real::python_http(&sandbox, real::Python::Mcp2),
        real::everything_http(&sandbox, real::EverythingHttp::Streamable),
    ];
    for server in servers {
        let said = post(server.url(), INITIALIZE);
        assert!(said.starts_with("HTTP/1.1 200"), "{} said {said}", server.url());
    }
}

/// The answer to a POST, head and what there is of the body when the server closes.
fn post(url: &str, body: &str) -> String {
    let address = url.trim_start_matches("http://");
    let (host, path) = address.split_once('/').expect("a URL with a path");
    let mut stream = TcpStream::connect(host).expect("the server accepts");
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the answer ends");
    String::from_utf8_lossy(&answer).into_owned()
}
