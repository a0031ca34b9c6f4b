//! The control socket, by way of the commands that use it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use herm_testkit::{Sandbox, fake, fake_log, processes_with, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON};
use crate::serve::{entry, kill};

/// Runs a command; standard output, standard error, exit code.
pub(crate) fn run(sandbox: &Sandbox, words: &[&str]) -> (String, String, Option<i32>) {
    let output = sandbox.herm().args(words).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// Runs a command with `--json`; its document and its exit code.
pub(crate) fn document(sandbox: &Sandbox, words: &[&str]) -> (Value, Option<i32>) {
    let (out, err, code) = run(sandbox, &[&["--json"], words].concat());
    let document = serde_json::from_str(&out).unwrap_or_else(|why| panic!("{why}: {out}{err}"));
    (document, code)
}

/// A host with one scripted server that is ready.
fn host(sandbox: &Sandbox, script: &str) -> (Client, PathBuf) {
    let log = sandbox.root().join("fs.log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake(script, &log), "")));
    let mut command = sandbox.herm();
    command.arg("serve");
    let mut client = Client::open(command);
    client.tools(&["mcp__fs__echo"]);
    (client, log)
}

#[test]
fn without_a_host_status_says_so_and_the_others_exit_7() {
    let sandbox = Sandbox::new();
    sandbox.config("mcp_servers:\n  fs: {command: 'true'}\n");
    let (status, code) = document(&sandbox, &["status"]);
    let configured = json!([{"name": "fs", "fingerprint": "01d34eeca3b3e1ae", "failures": 0, "allowance": 16, "next_attempt_at": null, "reason": null}]);
    assert_eq!(
        (&status["hosts"], &status["configured"], code),
        (&json!([]), &configured, Some(0)),
        "{status}"
    );
    assert!(run(&sandbox, &["status"]).0.contains("no host runs"));
    for words in [&["reload"][..], &["restart", "fs"], &["stop"]] {
        let (_, said, code) = run(&sandbox, words);
        assert_eq!(code, Some(7), "{words:?}: {said}");
        assert!(said.contains("no host runs on this home"), "{said}");
    }
}

#[test]
fn a_call_through_a_host_starts_no_process_and_gives_the_same() {
    let sandbox = Sandbox::new();
    let (client, log) = host(&sandbox, "good");
    let mut shown = Vec::new();
    for direct in [&[][..], &["--direct"]] {
        let words = |words: &[&'static str]| [words, direct].concat();
        let called = run(&sandbox, &words(&["call", "fs.echo", "s=7"]));
        let exposed = run(&sandbox, &words(&["call", "mcp__fs__echo", "s:=\"7\""]));
        assert_eq!(called, exposed);
        let unknown = run(&sandbox, &words(&["call", "fs.ecko"]));
        let read = run(&sandbox, &words(&["read", "x:nothing"]));
        let prompt = run(&sandbox, &words(&["prompt", "fs.none"]));
        let tools = run(&sandbox, &words(&["tools", "--live", "--schema"]));
        let (mut json, _) = document(&sandbox, &words(&["tools", "--live", "--schema"]));
        for key in ["tools", "servers"] {
            let read = json[key][0]["listed_at"].take(); // each at a time of its own
            assert!(read.is_string(), "{json}");
        }
        let (mut document, code) = document(&sandbox, &words(&["call", "fs.echo", "s=7"]));
        document["ms"] = json!(0);
        shown.push((called, unknown, read, prompt, tools, json, document, code));
        let starts = if direct.is_empty() { 1 } else { 9 };
        assert_eq!(fake_log::spawns(&log), starts, "with {direct:?}");
    }
    assert_eq!(shown[0], shown[1]);
    assert_eq!(shown[0].0, ("7\n".to_owned(), String::new(), Some(0)));
    assert_eq!((shown[0].1.2, shown[0].2.2, shown[0].3.2), (Some(3), Some(3), Some(3)));
    // Another configuration is another host's business.
    let other =
        sandbox.write("other.yaml", std::fs::read(sandbox.home().join("config.yaml")).unwrap());
    let other = other.display().to_string();
    let called = run(&sandbox, &["--config", &other, "call", "fs.echo", "s=8"]);
    assert_eq!(called.0, "8\n", "{}", called.1);
    assert_eq!(fake_log::spawns(&log), 10);
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn an_interrupted_call_is_cancelled_in_the_host() {
    let sandbox = Sandbox::new();
    let (client, log) = host(&sandbox, "calls");
    let mut call =
        sandbox.herm().args(["call", "fs.silent"]).stderr(Stdio::piped()).spawn().unwrap();
    let heard =
        |what: &str| fake_log::read(&log).iter().any(|entry| entry.data.to_string().contains(what));
    wait_until(SOON, "the call arrives", || heard("silent\\\",\\\"arguments").then_some(()));
    kill("-INT", call.id());
    assert_eq!(wait_until(SOON, "the command ends", || call.try_wait().unwrap()).code(), Some(130));
    wait_until(SOON, "the server hears of it", || heard("notifications/cancelled").then_some(()));
    assert_eq!(fake_log::spawns(&log), 1);
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn status_tells_what_is_wrong_with_each_server() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("fs.log");
    let mut config = format!("mcp_servers:\n{}", entry("fs", &fake("good", &log), ""));
    config +=
        "  gone: {command: no-such-program-anywhere}\n  off: {command: 'true', enabled: false}\n";
    sandbox.config(&config);
    let mut command = sandbox.herm();
    command.arg("serve");
    let mut client = Client::open(command);
    client.tools(&["mcp__fs__echo"]);
    let status = wait_until(SOON, "the missing program is known", || {
        let (status, code) = document(&sandbox, &["status"]);
        assert_eq!(code, Some(0));
        let known = status["hosts"][0]["servers"][1]["reason"].is_object();
        known.then_some(status)
    });
    assert_eq!(status["hosts"][0]["pid"], client.child.id());
    let servers = status["hosts"][0]["servers"].as_array().unwrap();
    let states: Vec<_> = servers.iter().map(|server| server["name"].as_str().unwrap()).collect();
    assert_eq!(states, ["fs", "gone", "off"]);
    let fs = &servers[0];
    assert_eq!(
        (&fs["state"], &fs["tools"], &fs["freshness"]),
        (&json!("ready"), &json!(1), &json!("live"))
    );
    assert_eq!(
        (&fs["era"], &fs["breaker"], &fs["in_flight"]),
        (&json!("handshake"), &json!("closed"), &json!(0))
    );
    assert!(fs["pid"].is_u64() && fs["since"].as_str().unwrap().ends_with('Z'), "{fs}");
    let (shown, _, _) = run(&sandbox, &["status"]);
    assert!(shown.contains("no-such-program-anywhere"), "{shown}");
    let (shown, _, code) = run(&sandbox, &["status", "fs"]);
    assert!(code == Some(0) && shown.contains("counters") && !shown.contains("gone"), "{shown}");
    assert_eq!(run(&sandbox, &["status", "nobody"]).2, Some(3));
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn a_server_is_started_again_and_a_broken_file_changes_nothing() {
    let sandbox = Sandbox::new();
    let (mut client, log) = host(&sandbox, "good");
    let (restarted, code) = document(&sandbox, &["restart", "fs"]);
    assert_eq!((&restarted["server"]["state"], code), (&json!("ready"), Some(0)), "{restarted}");
    assert_eq!(fake_log::spawns(&log), 2);
    let (unknown, code) = document(&sandbox, &["restart", "nobody"]);
    assert_eq!((&unknown["error"]["kind"], code), (&json!("not_found"), Some(3)));

    let (reloaded, code) = document(&sandbox, &["reload"]);
    assert_eq!((&reloaded["unchanged"], code), (&json!(["fs"]), Some(0)), "{reloaded}");
    sandbox.config("mcp_servers: [");
    let (broken, code) = document(&sandbox, &["reload"]);
    assert_eq!((&broken["error"]["kind"], code), (&json!("config"), Some(2)), "{broken}");
    assert_eq!(
        client.call("mcp__fs__echo", &json!({"s": "x"}))["result"]["content"][0]["text"],
        "x"
    );
    assert_eq!(fake_log::spawns(&log), 2);
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn stop_is_back_when_every_server_has_ended() {
    let sandbox = Sandbox::new();
    let (mut client, log) = host(&sandbox, "good");
    let second = sandbox
        .herm()
        .arg("serve")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let mut second = second.unwrap();
    let both = |count: usize| {
        let (status, _) = document(&sandbox, &["status"]);
        (status["hosts"].as_array().unwrap().len() == count).then_some(())
    };
    wait_until(SOON, "both hosts answer", || both(2));
    let (_, said, code) = run(&sandbox, &["stop"]);
    assert_eq!(code, Some(2), "{said}");
    let pid = client.child.id().to_string();
    assert!(said.contains("--pid") && said.contains(&pid), "{said}");
    let (stopped, code) = document(&sandbox, &["stop", "--pid", &second.id().to_string()]);
    assert_eq!((&stopped["ok"], code), (&json!(true), Some(0)), "{stopped}");
    assert_eq!(wait_until(SOON, "it ends", || second.try_wait().unwrap()).code(), Some(0));
    assert_eq!(run(&sandbox, &["stop"]).2, Some(0));
    let marker = log.to_string_lossy().into_owned();
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
    assert_eq!(client.wait().code(), Some(0));
}

#[test]
fn the_folder_is_private_and_a_killed_hosts_socket_is_removed_by_the_next_command() {
    let sandbox = Sandbox::new();
    let (mut client, log) = host(&sandbox, "good");
    let folder = sandbox.home().join("run");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let socket = folder.join(format!("{}.sock", client.child.id()));
    assert!(socket.exists());
    kill("-KILL", client.child.id());
    client.wait();
    assert!(socket.exists(), "nobody can have removed it yet");
    assert_eq!(document(&sandbox, &["status"]).0["hosts"], json!([]));
    assert!(!socket.exists());
    let marker = log.to_string_lossy().into_owned();
    wait_until(SOON, "its server ends", || processes_with(&marker).is_empty().then_some(()));
}

#[test]
fn a_home_with_a_long_path_has_a_socket_that_is_found() {
    let mut sandbox = Sandbox::new();
    let long = sandbox.root().join("l".repeat(90));
    std::fs::create_dir(&long).unwrap();
    let log = sandbox.root().join("fs.log");
    let config = format!("mcp_servers:\n{}", entry("fs", &fake("good", &log), ""));
    std::fs::write(long.join("config.yaml"), config).unwrap();
    let herm = |sandbox: &mut Sandbox, words: &[&str]| {
        let mut command = sandbox.herm();
        command.env("HERM_HOME", &long).args(words);
        command
    };
    let mut client = Client::open(herm(&mut sandbox, &["serve"]));
    client.tools(&["mcp__fs__echo"]);
    // From a shell with another temporary folder.
    let called =
        herm(&mut sandbox, &["call", "fs.echo", "s=far"]).env("TMPDIR", "/").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&called.stdout), "far\n", "{called:?}");
    assert_eq!(fake_log::spawns(&log), 1);
    let tmp = sandbox.root().join("tmp");
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 1);
    assert_eq!(client.close().0.code(), Some(0));
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0, "the private folder is left");
}

/// Whatever talks on the socket: it is answered, bounded, and costs the host nothing.
#[test]
fn what_is_no_request_of_ours_is_refused() {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    let sandbox = Sandbox::new();
    let (client, _) = host(&sandbox, "good");
    let socket = sandbox.home().join(format!("run/{}.sock", client.child.id()));
    let told = |request: &str| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let post = |path: &str, body: &str| {
        told(&format!(
            "POST {path} HTTP/1.1\r\nhost: herm\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    for (answer, start) in [
        (told("nonsense\r\n\r\n"), "HTTP/1.1 400"),
        (told("GET /v1/nothing HTTP/1.1\r\nhost: herm\r\n\r\n"), "HTTP/1.1 404"),
        (told("GET /v1/stop HTTP/1.1\r\nhost: herm\r\n\r\n"), "HTTP/1.1 404"),
        (told("GET /v1/status HTTP/1.1\r\nhost: herm\r\n\r\n"), "HTTP/1.1 200"),
        (post("/v1/call", "{"), "HTTP/1.1 400"),
        (
            post(
                "/v1/call",
                r#"{"config":null,"ask":{"server":"nobody","tool":null,"name":"x","arguments":null,"timeout_ms":null}}"#,
            ),
            "HTTP/1.1 421",
        ),
        (
            post(
                "/v1/call",
                r#"{"config":"/elsewhere","ask":{"server":"fs","tool":null,"name":"x","arguments":null,"timeout_ms":null}}"#,
            ),
            "HTTP/1.1 421",
        ),
        (post("/v1/servers/%2e%2e/restart", r#"{"config":null,"ask":{}}"#), "HTTP/1.1 404"),
        (
            told(&format!(
                "POST /v1/call HTTP/1.1\r\nhost: herm\r\ncontent-length: {}\r\n\r\n",
                1_u64 << 40
            )),
            "HTTP/1.1 400",
        ),
    ] {
        assert!(answer.starts_with(start), "{start}: {answer}");
    }
    assert_eq!(client.close().0.code(), Some(0));
}
