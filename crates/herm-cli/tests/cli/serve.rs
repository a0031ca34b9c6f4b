//! `herm serve` on standard streams, as an MCP client sees it.

use std::fmt::Write as _;
use std::process::Command;

use herm_testkit::{Sandbox, fake, fake_log, processes_with, real, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON};

/// An entry of the configuration.
pub(crate) fn entry(name: &str, command: &[String], more: &str) -> String {
    let entry = json!({"command": command[0], "args": command[1..]}).to_string();
    format!("  {name}: {}{more}}}\n", entry.trim_end_matches('}'))
}

fn serve(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.herm();
    command.arg("serve");
    command
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[expect(clippy::disallowed_methods, reason = "a tool of the test, not a server")]
pub(crate) fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_real_server_is_served_with_its_definitions_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.config(&format!("mcp_servers:\n{}", entry("everything", &real::everything(), "")));
    let mut client = Client::open(serve(&sandbox));
    client.find("the notice of the new tools", |message| {
        message["method"] == "notifications/tools/list_changed"
    });
    let tools = client.tools(&["mcp__everything__echo"]);
    let sum = tools.as_array().unwrap().iter().find(|t| t["name"] == "mcp__everything__get_sum");
    let sum = sum.unwrap_or_else(|| panic!("{tools:#}"));
    assert_eq!(sum["_meta"]["herm/freshness"], "live");
    assert_eq!(sum["_meta"]["herm/tool"], "get-sum");
    assert!(sum["inputSchema"]["$schema"].is_string(), "{sum}");
    let answer = client.call("mcp__everything__get_sum", &json!({"a": 2, "b": 3}));
    assert_eq!(text(&answer), "The sum of 2 and 3 is 5.");
    let unknown = client.call("mcp__everything__no_such", &json!({}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(client.call("nothing", &json!({}))["error"]["code"], -32602);
    let (status, _) = client.close();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn calls_run_side_by_side_and_ids_come_back_as_they_were_written() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("calls", &log), "")));
    let mut client = Client::open(serve(&sandbox));
    client.tools(&["mcp__fs__wait"]);
    let wait = |ms: &str| json!({"name": "mcp__fs__wait", "arguments": {"ms": ms}});
    // The number and the text are two ids; the slow ones are asked first.
    for (id, ms) in [("\"7\"", "600"), ("7", "300"), ("\"é\\u00e9\"", "20"), ("-3", "20")] {
        client.request(id, "tools/call", &wait(ms));
    }
    client.request("7", "tools/call", &wait("20"));
    let twice = client.find("a refusal", |message| message.get("error").is_some());
    assert_eq!((&twice["id"], &twice["error"]["code"]), (&json!(7), &json!(-32600)));
    let mut order = Vec::new();
    for _ in 0..4 {
        let answer = client.find("an answer", |message| message.get("result").is_some());
        assert_eq!(text(&answer), "waited");
        order.push(answer["id"].clone());
    }
    assert_eq!(order[2..], [json!(7), json!("7")], "{order:?}");
    for id in [json!("éé"), json!(-3)] {
        assert!(order.contains(&id), "{order:?}");
    }
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn progress_comes_under_the_callers_token_and_a_cancelled_call_is_not_answered() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("calls", &log), "")));
    let mut client = Client::open(serve(&sandbox));
    client.tools(&["mcp__fs__chatty"]);
    let chatty = |count: &str, token: &str| json!({"name": "mcp__fs__chatty", "arguments": {"count": count}, "_meta": {"progressToken": token}});
    client.request("\"a\"", "tools/call", &chatty("3", "tok-1"));
    let word = client.find("progress", |message| message["method"] == "notifications/progress");
    assert_eq!(
        (&word["params"]["progressToken"], &word["params"]["progress"]),
        (&json!("tok-1"), &json!(1))
    );
    assert_eq!(text(&client.find("the answer", |message| message["id"] == "a")), "talked");

    client.request("\"b\"", "tools/call", &chatty("100000", "tok-2"));
    client.find("progress", |message| message["params"]["progressToken"] == "tok-2");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "b"}}).to_string());
    wait_until(SOON, "the server hears of the cancellation", || {
        let cancelled = fake_log::read(&log)
            .iter()
            .any(|entry| entry.data.to_string().contains("notifications/cancelled"));
        cancelled.then_some(())
    });
    // Whatever the server still said of it is not passed on.
    assert_eq!(text(&client.call("mcp__fs__echo", &json!({"s": "still here"}))), "still here");
    let (status, rest) = client.close();
    assert_eq!(status.code(), Some(0));
    assert!(rest.iter().all(|message| message["id"] != "b"), "{rest:?}");
}

#[test]
fn garbage_costs_nothing_but_itself() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("good", &log), "")));
    let mut client = Client::open(serve(&sandbox));
    client.tools(&["mcp__fs__echo"]);
    for line in [
        "",
        "not json",
        "{",
        "[]",
        "42",
        "{\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}",
    ] {
        client.send(line);
    }
    client.send(&"x".repeat(17 << 20));
    client.request("{}", "ping", &json!({}));
    let odd = client.find("a refusal", |message| message.get("error").is_some());
    assert_eq!(odd["error"]["code"], -32600);
    for method in [
        "resources/list",
        "prompts/list",
        "logging/setLevel",
        "completion/complete",
        "server/discover",
    ] {
        assert_eq!(client.ask(method, &json!({}))["error"]["code"], -32601, "{method}");
    }
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    assert_eq!(text(&client.call("mcp__fs__echo", &json!({"s": "ok"}))), "ok");
    let (status, rest) = client.close();
    assert_eq!(status.code(), Some(0));
    let answers: Vec<_> = rest.iter().filter(|message| message.get("id").is_some()).collect();
    assert!(answers.is_empty(), "what is no request was answered: {answers:?}");
}

#[test]
fn a_refused_call_is_a_result_that_says_when_to_retry() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let mut config = "mcp_servers:\n".to_owned();
    config += &entry("fs", &fake("calls", &log), ", \"timeout\": 1");
    config += "  gone: {command: no-such-program-anywhere}\n";
    sandbox.config(&config);
    let mut client = Client::open(serve(&sandbox));
    client.tools(&["mcp__fs__silent"]);
    let late = client.call("mcp__fs__silent", &json!({}));
    assert_eq!(
        (&late["result"]["isError"], &late["result"]["_meta"]["herm/refusal"]["kind"]),
        (&json!(true), &json!("timeout")),
        "{late}"
    );
    assert!(text(&late).contains("may have taken effect"), "{late}");
    // Its tools are not known: under its prefix the server is tried first.
    let gone = client.call("mcp__gone__anything", &json!({}));
    let refusal = &gone["result"]["_meta"]["herm/refusal"];
    assert_eq!(
        (&refusal["kind"], &refusal["server"]),
        (&json!("unavailable"), &json!("gone")),
        "{gone}"
    );
    assert!(text(&gone).starts_with("MCP server 'gone' is not connected"), "{gone}");
    assert_eq!(client.close().0.code(), Some(0));
}

/// A client that asks and asks, and never reads: the servers and other commands do not notice.
#[test]
fn a_client_that_does_not_read_blocks_no_server() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("good", &log), "")));
    let mut command = serve(&sandbox);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let unread = child.stdout.take();
    let writer = std::thread::spawn(move || {
        use std::io::Write as _;
        let mut line = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#.to_owned();
        let s = "x".repeat(64 << 10);
        // Blocks once herm stops reading, and fails once it has ended.
        for id in 1..10_000 {
            if writeln!(stdin, "{line}").is_err() {
                return id;
            }
            line.clear();
            write!(line, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"mcp__fs__echo","arguments":{{"s":"{s}"}}}}}}"#).unwrap();
        }
        10_000
    });
    wait_until(SOON, "calls arrive at the server", || {
        (fake_log::read(&log).len() > 20).then_some(())
    });
    // The same server answers somebody else meanwhile.
    let output = sandbox.herm().args(["call", "fs.echo", "s=hello"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\n", "{output:?}");
    assert_eq!(fake_log::spawns(&log), 1);
    kill("-TERM", child.id());
    let status = wait_until(SOON, "herm ends", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert!(writer.join().unwrap() < 10_000, "herm read all that it could not answer");
    drop(unread);
    let marker = log.to_string_lossy().into_owned();
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
}

#[test]
fn the_end_of_input_lets_running_calls_end_and_leaves_no_server() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("calls", &log), "")));
    let mut client = Client::open(serve(&sandbox));
    client.tools(&["mcp__fs__wait"]);
    let slow = json!({"name": "mcp__fs__wait", "arguments": {"ms": "800"}});
    client.request("\"slow\"", "tools/call", &slow);
    let (status, rest) = client.close();
    assert_eq!(status.code(), Some(0));
    assert!(
        rest.iter().any(|message| message["id"] == "slow" && text(message) == "waited"),
        "{rest:?}"
    );
    let marker = log.to_string_lossy().into_owned();
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
}

#[test]
fn a_result_over_the_bound_is_cut_and_says_so() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let bound = ", \"max_result_chars\": 100";
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("good", &log), bound)));
    let mut client = Client::open(serve(&sandbox));
    client.tools(&["mcp__fs__echo"]);
    let said = format!("{}{}", "a".repeat(500), "z".repeat(500));
    let cut = client.call("mcp__fs__echo", &json!({"s": said}));
    assert_eq!(cut["result"]["_meta"]["herm/cut"]["characters"], 900, "{cut}");
    let text = text(&cut);
    assert!(text.starts_with(&format!("{}\n[", "a".repeat(40))), "{text}");
    assert!(text.ends_with(&format!("]\n{}", "z".repeat(60))), "{text}");
    assert_eq!(client.close().0.code(), Some(0));
}

/// Thousands of requests at once, each short and each with a long answer.
#[test]
fn a_burst_of_requests_is_answered_whole_and_in_order() {
    let sandbox = Sandbox::new();
    sandbox.config(&format!("mcp_servers:\n{}", entry("everything", &real::everything(), "")));
    let mut client = Client::open(serve(&sandbox));
    client.tools(&["mcp__everything__echo"]);
    let mut burst = String::new();
    for id in 1000..3000 {
        writeln!(burst, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#).unwrap();
    }
    client.send(burst.trim_end());
    for id in 1000..3000 {
        let answer = client.find("an answer", |message| message.get("id").is_some());
        assert_eq!(answer["id"], id);
    }
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn a_required_server_that_is_missing_ends_it() {
    let sandbox = Sandbox::new();
    sandbox.config("mcp_servers:\n  gone: {command: no-such-program-anywhere, required: true}\n");
    let mut client = Client::start(serve(&sandbox));
    assert_eq!(client.wait().code(), Some(7));
    assert!(client.rest().is_empty(), "standard output is the protocol's");
    let sandbox = Sandbox::new();
    assert_eq!(Client::start(serve(&sandbox)).wait().code(), Some(2), "no configuration");
}

#[test]
fn safe_mode_starts_nothing_and_says_so() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("good", &log), "")));
    let mut command = serve(&sandbox);
    command.env("HERM_SAFE_MODE", "1");
    let mut client = Client::start(command);
    let opened = client.ask("initialize", &json!({"protocolVersion": "2025-11-25"}));
    let instructions = opened["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("safe mode"), "{instructions}");
    assert_eq!(client.ask("tools/list", &json!({}))["result"]["tools"], json!([]));
    let refused = client.call("mcp__fs__echo", &json!({}));
    assert_eq!(refused["result"]["_meta"]["herm/refusal"]["kind"], "refused", "{refused}");
    assert_eq!(client.close().0.code(), Some(0));
    assert_eq!(fake_log::spawns(&log), 0);
}

#[test]
fn a_configuration_that_would_start_itself_is_refused() {
    let sandbox = Sandbox::new();
    let herm = herm_testkit::binary("herm").display().to_string();
    let home = sandbox.home().display().to_string();
    let itself = |env: &str| {
        format!(
            "mcp_servers:\n  me: {{command: '{herm}', args: [serve], env: {{HERM_HOME: '{env}'}}}}\n"
        )
    };
    sandbox.config(&itself(&home));
    let mut client = Client::start(serve(&sandbox));
    assert_eq!(client.wait().code(), Some(2));
    // Another home is another herm: it is started, and ends for want of a configuration.
    sandbox.config(&itself(&sandbox.root().join("other").display().to_string()));
    let client = Client::open(serve(&sandbox));
    assert_eq!(client.close().0.code(), Some(0));
    // Behind a wrapper it finds out from the inside.
    let log = sandbox.root().join("inner");
    sandbox.config(&format!(
        "mcp_servers:\n  me: {{command: sh, args: [-c, '{herm} serve 2>>{}; exit 0'], env: {{HERM_HOME: '{home}'}}}}\n",
        log.display()
    ));
    let client = Client::open(serve(&sandbox));
    let said = wait_until(SOON, "the inner one refuses", || {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        said.contains('\n').then_some(said)
    });
    assert!(said.contains("would start itself"), "{said}");
    assert_eq!(client.close().0.code(), Some(0));
}

/// It did not read from a client that did not read, so it did not see that the client had left.
#[test]
#[expect(clippy::disallowed_methods, reason = "a tool of the test, not a server")]
fn the_end_of_input_ends_it_though_nobody_reads_what_it_has_to_say() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    sandbox.config(&format!("mcp_servers:\n{}", entry("fs", &fake("good", &log), "")));
    let mut lines = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#.to_owned();
    let s = "x".repeat(64 << 10);
    for id in 1..400 {
        write!(lines, "\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"mcp__fs__echo\",\"arguments\":{{\"s\":\"{s}\"}}}}}}").unwrap();
    }
    let file = sandbox.write("lines", &lines);
    // Its own process, so that its end of the pipe closes while it still has much to say.
    let mut client =
        Command::new("cat").arg(file).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut command = serve(&sandbox);
    command.stdin(client.stdout.take().unwrap()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_until(SOON, "calls arrive at the server", || {
        (fake_log::read(&log).len() > 20).then_some(())
    });
    assert!(client.try_wait().unwrap().is_none(), "all was read, though nothing was taken");
    client.kill().unwrap();
    client.wait().unwrap();
    let status = wait_until(SOON, "herm ends", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert_eq!(processes_with(&log.to_string_lossy()), Vec::<u32>::new());
}

#[test]
fn the_end_of_input_ends_the_wait_for_a_required_server() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let mute = fake("b01-mute", &log);
    sandbox.config(&format!("mcp_servers:\n{}", entry("mute", &mute, ", required: true")));
    let mut client = Client::start(serve(&sandbox));
    wait_until(SOON, "it is started", || (fake_log::spawns(&log) == 1).then_some(()));
    drop(client.stdin.take());
    assert_eq!(client.wait().code(), Some(0));
    assert_eq!(processes_with(&log.to_string_lossy()), Vec::<u32>::new());
}

/// Its client waited for ever.
#[test]
fn a_request_over_the_bound_is_told_so() {
    let sandbox = Sandbox::new();
    sandbox.config("mcp_servers: {}\n");
    let mut client = Client::open(serve(&sandbox));
    let long = "x".repeat((16 << 20) + 1);
    client.send(&format!(
        r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"{long}"}}}}"#
    ));
    let refused = client.find("the refusal", |message| message["id"] == 77);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("over the limit"), "{refused}");
    assert_eq!(client.close().0.code(), Some(0));
}
