//! The whole way, on the server that is part of the program.

use crate::sandbox::Sandbox;

/// Times differ from run to run.
fn without_times(shown: &str) -> String {
    let shown = without_dates(shown);
    let mut out = String::new();
    let mut rest = shown.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        out.push_str(before);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (digits, behind) = number.split_at(end);
        let is_time = behind.starts_with(" ms") || before.ends_with("\"ms\":");
        out.push_str(if is_time { "N" } else { digits });
        rest = behind;
    }
    out + rest
}

/// When lists were read.
fn without_dates(shown: &str) -> String {
    let mark = r#""listed_at":""#;
    let mut parts = shown.split(mark);
    let mut out = parts.next().unwrap_or_default().to_owned();
    let behind = |part| str::split_once(part, '"').map_or("", |(_, behind)| behind);
    out.extend(parts.flat_map(|part| [mark, "TIME\"", behind(part)]));
    out
}

#[test]
fn the_demo_needs_nothing() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(without_times(&sandbox.run(&["demo"])), @r#"
    --- stdout
    herm starts a small MCP server that is part of this program, and talks to it as it
    would to any other.
      ✓ spawn N ms
      ✓ open  N ms
      ✓ list  N ms
      They agreed on revision 2025-11-25 of the protocol (handshake era).

    It offers 3 tools, here under the names that an agent sees:
      mcp__demo__add                       Add two numbers.
      mcp__demo__greet                     Greet somebody by name.
      mcp__demo__count                     Count the calls since this server was started.

    herm call demo.add a=2 b=40
      ✓ 42  (N ms)

    The server is stopped again now, and nothing is left behind. What to do next:
      write a configuration     see README.md, "A real configuration"
      herm check                is it right?
      herm test                 do its servers work?
      herm tools                what do they offer?
      herm call SERVER.TOOL     use it
    --- exit 0
    "#);
    insta::assert_snapshot!(without_times(&sandbox.run(&["--json", "demo"])), @r#"
    --- stdout
    {"v":1,"ok":true,"server":{"name":"demo","era":"handshake","protocol":"2025-11-25","server_info":{"name":"herm-demo","version":"VERSION"}},"tools":[{"name":"mcp__demo__add","server":"demo","tool":"add","title":null,"description":"Add two numbers.","freshness":"live","listed_at":"TIME","definition":null},{"name":"mcp__demo__greet","server":"demo","tool":"greet","title":null,"description":"Greet somebody by name.","freshness":"live","listed_at":"TIME","definition":null},{"name":"mcp__demo__count","server":"demo","tool":"count","title":null,"description":"Count the calls since this server was started.","freshness":"live","listed_at":"TIME","definition":null}],"call":{"name":"mcp__demo__add","arguments":{"a":2,"b":40},"ms":N,"result":{"content":[{"type":"text","text":"42"}],"isError":false}}}
    --- exit 0
    "#);
}

/// A configuration whose one server is our own.
fn demo_server() -> Sandbox {
    let herm = env!("CARGO_BIN_EXE_herm");
    Sandbox::with(&format!("mcp_servers:\n  demo:\n    command: {herm}\n    args: [demo-server]\n"))
}

#[test]
fn every_command_works_on_a_real_server() {
    let sandbox = demo_server();
    insta::assert_snapshot!(without_times(&sandbox.run(&["test"])), @r"
    --- stdout
    Testing 'demo'
      ✓ spawn   N ms
      ✓ open    N ms  handshake era, 2025-11-25
      ✓ list    N ms
      ✓ Connected (N ms)
      ✓ Tools discovered: 3
        add                                  Add two numbers.
        greet                                Greet somebody by name.
        count                                Count the calls since this server was started.
    --- exit 0
    ");
    insta::assert_snapshot!(without_times(&sandbox.run(&["test", "--json"])), @r#"
    --- stdout
    {"v":1,"ok":true,"servers":[{"name":"demo","ok":true,"era":"handshake","protocol":"2025-11-25","server_info":{"name":"herm-demo","version":"VERSION"},"phases":[{"phase":"spawn","ok":true,"ms":N},{"phase":"open","ok":true,"ms":N},{"phase":"list","ok":true,"ms":N}],"tools":[{"name":"mcp__demo__add","server":"demo","tool":"add","title":null,"description":"Add two numbers.","freshness":"live","listed_at":"TIME","definition":null},{"name":"mcp__demo__greet","server":"demo","tool":"greet","title":null,"description":"Greet somebody by name.","freshness":"live","listed_at":"TIME","definition":null},{"name":"mcp__demo__count","server":"demo","tool":"count","title":null,"description":"Count the calls since this server was started.","freshness":"live","listed_at":"TIME","definition":null}],"skipped_lines":0,"first_skipped":null,"error":null}]}
    --- exit 0
    "#);
    insta::assert_snapshot!(sandbox.run(&["tools", "--live"]), @r"
    --- stdout
    demo: 3 tools (live)
      mcp__demo__add                       Add two numbers.
      mcp__demo__greet                     Greet somebody by name.
      mcp__demo__count                     Count the calls since this server was started.
    --- exit 0
    ");
    insta::assert_snapshot!(without_dates(&sandbox.run(&["tools", "--json", "--schema"])), @r#"
    --- stdout
    {"v":1,"tools":[{"name":"mcp__demo__add","server":"demo","tool":"add","title":null,"description":"Add two numbers.","freshness":"cached","listed_at":"TIME","definition":{"name":"add","description":"Add two numbers.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","required":["a","b"],"properties":{"a":{"type":"number","description":"The first"},"b":{"type":"number","description":"The second"}}}}},{"name":"mcp__demo__greet","server":"demo","tool":"greet","title":null,"description":"Greet somebody by name.","freshness":"cached","listed_at":"TIME","definition":{"name":"greet","description":"Greet somebody by name.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"Whom"}}}}},{"name":"mcp__demo__count","server":"demo","tool":"count","title":null,"description":"Count the calls since this server was started.","freshness":"cached","listed_at":"TIME","definition":{"name":"count","description":"Count the calls since this server was started.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}}}}],"hidden":[],"servers":[{"name":"demo","ok":true,"error":null,"freshness":"cached","listed_at":"TIME"}]}
    --- exit 0
    "#);
}

#[test]
fn calls_work_on_a_real_server() {
    let sandbox = demo_server();
    insta::assert_snapshot!(sandbox.run(&["call", "demo.add", "a=1.5", "b=2"]), @r"
    --- stdout
    3.5
    --- exit 0
    ");
    insta::assert_snapshot!(
        without_times(&sandbox.run(&["--json", "call", "mcp__demo__greet", "name=5"])), @r#"
    --- stdout
    {"v":1,"ok":true,"server":"demo","tool":"greet","name":"mcp__demo__greet","ms":N,"result":{"content":[{"type":"text","text":"Hello, 5!"}],"isError":false}}
    --- exit 0
    "#);
    insta::assert_snapshot!(sandbox.run(&["call", "demo.add", "a=one"]), @r"
    --- stderr
    error: `a` must be a number, and `one` is none
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["call", "demo.greet"]), @r"
    --- stdout
    `name` must be a text
    --- exit 1
    ");
    insta::assert_snapshot!(sandbox.run(&["call", "demo.gret", "--args", "{}"]), @r"
    --- stderr
    error: no tool is called `demo.gret`
    hint: did you mean `demo.greet`? `herm tools` shows all
    --- exit 3
    ");
    insta::assert_snapshot!(sandbox.run(&["--json", "resources"]), @r#"
    --- stdout
    {"v":1,"resources":[],"templates":[],"servers":[{"name":"demo","ok":true,"error":null}]}
    --- exit 0
    "#);
    insta::assert_snapshot!(sandbox.run(&["--json", "prompts"]), @r#"
    --- stdout
    {"v":1,"prompts":[],"servers":[{"name":"demo","ok":true,"error":null}]}
    --- exit 0
    "#);
    insta::assert_snapshot!(sandbox.run(&["read", "file:///x"]), @r"
    --- stderr
    error: no resource is called `file:///x`
    hint: `herm resources` shows what there is
    --- exit 3
    ");
}

#[test]
fn a_server_that_does_not_start_says_why() {
    // Fresh for each command: failures are remembered, and no command starts what has just failed.
    let fresh = || {
        Sandbox::with(
            "mcp_servers:\n  gone:\n    command: no-such-server\n  dead:\n    command: sh\n    args: [-c, 'echo no module named mcp >&2; exit 3']\n",
        )
    };
    insta::assert_snapshot!(without_times(&fresh().run(&["test"])), @r"
    --- stdout
    Testing 'gone'
      ✗ spawn   N ms
      ✗ MCP server 'gone' is not connected (spawn): `no-such-server` was not found; PATH searched: /usr/local/bin:/usr/bin:/bin
        hint: install `no-such-server`, or give its full path in `command`
    Testing 'dead'
      ✓ spawn   N ms
      ✗ open    N ms
      ✗ MCP server 'dead' is not connected (open): the server ended with exit code 3
        last lines of its standard error:
        | no module named mcp
        hint: run the command by hand to see why it ends
    --- stderr
    2 of 2 servers failed
    --- exit 1
    ");
    insta::assert_snapshot!(without_times(&fresh().run(&["test", "--json", "dead"])), @r#"
    --- stdout
    {"v":1,"ok":false,"servers":[{"name":"dead","ok":false,"era":null,"protocol":null,"server_info":null,"phases":[{"phase":"spawn","ok":true,"ms":N},{"phase":"open","ok":false,"ms":N}],"tools":[],"skipped_lines":0,"first_skipped":null,"error":{"phase":"open","kind":"unavailable","message":"MCP server 'dead' is not connected (open): the server ended with exit code 3","hint":"run the command by hand to see why it ends","exit_code":3,"signal":null,"http_status":null,"stderr":"no module named mcp"}}]}
    --- stderr
    1 of 1 servers failed
    --- exit 1
    "#);
    insta::assert_snapshot!(fresh().run(&["--json", "call", "dead.x", "a=1"]), @r#"
    --- stdout
    {"v":1,"error":{"kind":"unavailable","message":"MCP server 'dead' is not connected (open): the server ended with exit code 3","server":"dead","tool":"dead.x","hint":"run the command by hand to see why it ends","retry_after_ms":null}}
    --- stderr
    error: MCP server 'dead' is not connected (open): the server ended with exit code 3
    last lines of the server's standard error:
      | no module named mcp
    hint: run the command by hand to see why it ends
    --- exit 7
    "#);
    insta::assert_snapshot!(fresh().run(&["tools"]), @r"
    --- stderr
    warning: MCP server 'gone' is not connected (spawn): `no-such-server` was not found; PATH searched: /usr/local/bin:/usr/bin:/bin
    hint: install `no-such-server`, or give its full path in `command`
    warning: MCP server 'dead' is not connected (open): the server ended with exit code 3
    hint: run the command by hand to see why it ends
    --- exit 7
    ");
}
