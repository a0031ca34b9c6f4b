//! Commands that only read the configuration.

use crate::sandbox::Sandbox;

const TWO: &str = "\
mcp_servers:
  fs:
    command: npx
    args: [-y, '@modelcontextprotocol/server-filesystem', /tmp]
    env: {API_KEY: hunter2}
    tools: {include: [read_file, list_directory]}
  web:
    url: https://me:hunter2@example.com/mcp?key=hunter2
    headers: {Authorization: 'Bearer ${TOKEN}'}
    enabled: false
    tools: {exclude: [delete]}
";

const FAULTY: &str = "\
mcp_servers:
  fs:
    comand: npx
    timeout: soon
  ok:
    command: cat
model: gpt
";

#[test]
fn list_shows_what_is_configured_and_starts_nothing() {
    let sandbox = Sandbox::with(TWO);
    insta::assert_snapshot!(sandbox.run(&["list"]), @r"
    --- stdout
    Name  Transport  Target                                    Tools         Known                     State
    fs    stdio      npx -y @modelcontextprotocol/server-fil…  2 selected    -                         idle
    web   http       https://[REDACTED]@example.com/mcp?key=…  -1 excluded   -                         disabled
    --- exit 0
    ");
    insta::assert_snapshot!(sandbox.run(&["list", "--json"]), @r#"
    --- stdout
    {"v":1,"servers":[{"name":"fs","enabled":true,"transport":"stdio","target":"npx -y @modelcontextprotocol/server-filesystem /tmp","state":"idle","reason":null,"tools":null,"freshness":null,"known":null,"listed_at":null,"fingerprint":"af7da80882b70f91"},{"name":"web","enabled":false,"transport":"http","target":"https://[REDACTED]@example.com/mcp?key=[REDACTED]","state":"disabled","reason":null,"tools":null,"freshness":null,"known":null,"listed_at":null,"fingerprint":"d237af19787837c9"}]}
    --- exit 0
    "#);
    let safe = Sandbox::with(TWO).set("HERMES_SAFE_MODE", "on");
    insta::assert_snapshot!(safe.run(&["list"]), @r"
    --- stdout
    Name  Transport  Target                                    Tools         Known                     State
    fs    stdio      npx -y @modelcontextprotocol/server-fil…  2 selected    -                         idle (safe mode)
    web   http       https://[REDACTED]@example.com/mcp?key=…  -1 excluded   -                         disabled (safe mode)
    --- stderr
    warning: safe mode is on: no server is started or contacted
    --- exit 0
    ");
}

#[test]
fn safe_mode_refuses_whatever_would_start_a_server() {
    let sandbox = Sandbox::with(TWO).set("HERM_SAFE_MODE", "1");
    insta::assert_snapshot!(sandbox.run(&["test"]), @r"
    --- stderr
    error: safe mode is on: no server is started or contacted
    hint: unset HERM_SAFE_MODE and HERMES_SAFE_MODE, or leave out --safe-mode
    --- exit 4
    ");
    for words in [
        &["tools"][..],
        &["call", "fs.x"],
        &["resources"],
        &["read", "x:y"],
        &["prompts"],
        &["prompt", "fs.x"],
        &["demo"],
    ] {
        assert_eq!(sandbox.output(words).status.code(), Some(4), "{words:?}");
    }
    assert_eq!(Sandbox::with(TWO).output(&["--safe-mode", "test", "fs"]).status.code(), Some(4));
}

#[test]
fn check_shows_every_error_with_its_line() {
    let sandbox = Sandbox::with(FAULTY);
    insta::assert_snapshot!(sandbox.run(&["check"]), @r"
    --- stdout
      ✗ DIR/home/config.yaml:2:3: server `fs`: has neither `command` nor `url`
      2 |   fs:
            ^
      hint: `command` starts a program, `url` names a server on the network
      ✗ DIR/home/config.yaml:3:5: server `fs`: `comand`: the key `comand` is unknown
      3 |     comand: npx
              ^
      hint: did you mean `command`?
      ✗ DIR/home/config.yaml:4:14: server `fs`: `timeout`: should be a number of seconds, is text
      4 |     timeout: soon
                       ^
    --- stderr
    left alone, not herm's: model
    DIR/home/config.yaml: 3 to put right
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["check", "--json"]), @r#"
    --- stdout
    {"v":1,"ok":false,"file":"DIR/home/config.yaml","errors":[{"server":"fs","file":"DIR/home/config.yaml","line":2,"column":3,"key":null,"message":"has neither `command` nor `url`","hint":"`command` starts a program, `url` names a server on the network"},{"server":"fs","file":"DIR/home/config.yaml","line":3,"column":5,"key":"comand","message":"the key `comand` is unknown","hint":"did you mean `command`?"},{"server":"fs","file":"DIR/home/config.yaml","line":4,"column":14,"key":"timeout","message":"should be a number of seconds, is text","hint":null}],"warnings":[],"servers":[{"name":"fs","blocked":true,"findings":[],"config":null},{"name":"ok","blocked":false,"findings":[],"config":{"command":"cat","args":[],"env":{},"pass_env":[],"protocol":"auto","connect_timeout":60,"list_timeout":60,"start_timeout":120,"timeout":300,"max_timeout":3600,"queue_timeout":30,"keepalive_interval":180,"lazy":false,"enabled":true,"required":false,"trust":"full","approve":"writes","tools":{"include":null,"exclude":[],"resources":true,"prompts":true},"max_concurrent_calls":16,"max_message_bytes":16777216,"max_result_chars":2000000,"breaker":{"threshold":3,"cooldown_seconds":60},"supervision":{"backoff_initial":1,"backoff_max":60,"park_after":5,"park_interval":300,"park_max":1800,"proof":60,"allowance":16,"allowance_refill":1800,"allowance_earn":900,"probe_timeout":30,"spawn_timeout":10,"stop_grace":2,"term_grace":3}}}]}
    --- exit 2
    "#);
    insta::assert_snapshot!(sandbox.run(&["list"]), @r"
    --- stdout
    Name  Transport  Target                                    Tools         Known                     State
    fs    -          -                                         -             -                         blocked (has neither `command` nor `url`; `comand`: the key `comand` is unknown; `timeout`: should be a number of seconds, is text)
    ok    stdio      cat                                       all           -                         idle
    --- stderr
    warning: the configuration has 3 errors: `herm check` shows each
    --- exit 0
    ");
    insta::assert_snapshot!(sandbox.run(&["show", "fs"]), @r"
    --- stderr
    warning: the configuration has 3 errors: `herm check` shows each
    error: MCP server 'fs' is blocked: has neither `command` nor `url`; `comand`: the key `comand` is unknown; `timeout`: should be a number of seconds, is text
    hint: `herm check` shows each error with its line
    --- exit 4
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is snapshots")]
fn a_right_configuration_is_shown_with_its_secrets_hidden() {
    let sandbox = Sandbox::with(TWO);
    let shown = sandbox.run(&["check"]);
    insta::assert_snapshot!(shown, @r#"
    --- stdout
      ✓ DIR/home/config.yaml: 2 servers, no errors

    fs:
      command: npx
      args: ["-y","@modelcontextprotocol/server-filesystem","/tmp"]
      env:
        API_KEY: "[REDACTED]"
      pass_env: []
      protocol: auto
      connect_timeout: 60
      list_timeout: 60
      start_timeout: 120
      timeout: 300
      max_timeout: 3600
      queue_timeout: 30
      keepalive_interval: 180
      lazy: false
      enabled: true
      required: false
      trust: full
      approve: writes
      tools:
        include: ["read_file","list_directory"]
        exclude: []
        resources: true
        prompts: true
      max_concurrent_calls: 16
      max_message_bytes: 16777216
      max_result_chars: 2000000
      breaker:
        threshold: 3
        cooldown_seconds: 60
      supervision:
        backoff_initial: 1
        backoff_max: 60
        park_after: 5
        park_interval: 300
        park_max: 1800
        proof: 60
        allowance: 16
        allowance_refill: 1800
        allowance_earn: 900
        probe_timeout: 30
        spawn_timeout: 10
        stop_grace: 2
        term_grace: 3

    web:
      url: "https://[REDACTED]@example.com/mcp?key=[REDACTED]"
      headers:
        Authorization: "[REDACTED]${TOKEN}"
      transport: auto
      ssl_verify: true
      protocol: auto
      connect_timeout: 60
      list_timeout: 60
      start_timeout: 120
      timeout: 300
      max_timeout: 3600
      queue_timeout: 30
      keepalive_interval: 180
      lazy: false
      enabled: false
      required: false
      trust: full
      approve: writes
      tools:
        include: null
        exclude: ["delete"]
        resources: true
        prompts: true
      max_concurrent_calls: 16
      max_message_bytes: 16777216
      max_result_chars: 2000000
      breaker:
        threshold: 3
        cooldown_seconds: 60
      supervision:
        backoff_initial: 1
        backoff_max: 60
        park_after: 5
        park_interval: 300
        park_max: 1800
        proof: 60
        allowance: 16
        allowance_refill: 1800
        allowance_earn: 900
        probe_timeout: 30
        spawn_timeout: 10
        stop_grace: 2
        term_grace: 3
    --- stderr
    warning: DIR/home/config.yaml:9:30: server `web`: `headers.Authorization`: the variable `TOKEN` is not set, which `herm test` and enabling it need
      9 |     headers: [REDACTED]${TOKEN}[REDACTED]
                                       ^
      hint: set it in the environment or in `.env`, or write `${TOKEN:-default}`
    --- exit 0
    "#);
    let json = sandbox.run(&["--json", "show", "web"]);
    insta::assert_snapshot!(json, @r#"
    --- stdout
    {"v":1,"server":{"name":"web","enabled":false,"transport":"http","target":"https://[REDACTED]@example.com/mcp?key=[REDACTED]","state":"disabled","fingerprint":"d237af19787837c9","tool_prefix":"mcp__web__","config":{"url":"https://[REDACTED]@example.com/mcp?key=[REDACTED]","headers":{"Authorization":"[REDACTED]${TOKEN}"},"transport":"auto","ssl_verify":true,"protocol":"auto","connect_timeout":60,"list_timeout":60,"start_timeout":120,"timeout":300,"max_timeout":3600,"queue_timeout":30,"keepalive_interval":180,"lazy":false,"enabled":false,"required":false,"trust":"full","approve":"writes","tools":{"include":null,"exclude":["delete"],"resources":true,"prompts":true},"max_concurrent_calls":16,"max_message_bytes":16777216,"max_result_chars":2000000,"breaker":{"threshold":3,"cooldown_seconds":60},"supervision":{"backoff_initial":1,"backoff_max":60,"park_after":5,"park_interval":300,"park_max":1800,"proof":60,"allowance":16,"allowance_refill":1800,"allowance_earn":900,"probe_timeout":30,"spawn_timeout":10,"stop_grace":2,"term_grace":3}}}}
    --- exit 0
    "#);
    assert!(!format!("{shown}{json}").contains("hunter2"));
    insta::assert_snapshot!(sandbox.run(&["show", "fs"]), @r#"
    --- stdout
    fs (stdio, idle)
      npx -y @modelcontextprotocol/server-filesystem /tmp
      tools are offered as mcp__fs__…
      fingerprint af7da80882b70f91

      command: npx
      args: ["-y","@modelcontextprotocol/server-filesystem","/tmp"]
      env:
        API_KEY: "[REDACTED]"
      pass_env: []
      protocol: auto
      connect_timeout: 60
      list_timeout: 60
      start_timeout: 120
      timeout: 300
      max_timeout: 3600
      queue_timeout: 30
      keepalive_interval: 180
      lazy: false
      enabled: true
      required: false
      trust: full
      approve: writes
      tools:
        include: ["read_file","list_directory"]
        exclude: []
        resources: true
        prompts: true
      max_concurrent_calls: 16
      max_message_bytes: 16777216
      max_result_chars: 2000000
      breaker:
        threshold: 3
        cooldown_seconds: 60
      supervision:
        backoff_initial: 1
        backoff_max: 60
        park_after: 5
        park_interval: 300
        park_max: 1800
        proof: 60
        allowance: 16
        allowance_refill: 1800
        allowance_earn: 900
        probe_timeout: 30
        spawn_timeout: 10
        stop_grace: 2
        term_grace: 3
    --- exit 0
    "#);
}

#[test]
fn a_variable_without_a_value_is_an_error_of_its_line() {
    let config = "mcp_servers:\n  fs:\n    command: cat\n    env:\n      KEY: ${NOT_SET}\n";
    let sandbox = Sandbox::with(config);
    insta::assert_snapshot!(sandbox.run(&["check"]), @r"
    --- stdout
      ✗ DIR/home/config.yaml:5:12: server `fs`: `env.KEY`: the variable `NOT_SET` is not set
      5 |       KEY: ${NOT_SET}
                     ^
      hint: set it in the environment or in `.env`, or write `${NOT_SET:-default}`
    --- stderr
    DIR/home/config.yaml: 1 to put right
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["tools"]), @r"
    --- stderr
    warning: MCP server 'fs' cannot be used as configured: DIR/home/config.yaml:5:12: server `fs`: `env.KEY`: the variable `NOT_SET` is not set (set it in the environment or in `.env`, or write `${NOT_SET:-default}`)
    hint: `herm check` shows every fault with its line
    --- exit 7
    ");
    sandbox.write("home/.env", b"NOT_SET=hunter2\n");
    assert_eq!(sandbox.output(&["check"]).status.code(), Some(0));
}

#[test]
fn an_unknown_name_is_three_and_nothing_is_started() {
    let sandbox = Sandbox::with(TWO);
    insta::assert_snapshot!(sandbox.run(&["test", "fs", "wbe"]), @r"
    --- stderr
    error: no server is called `wbe`
    hint: did you mean `web`? `herm list` shows all servers
    --- exit 3
    ");
    insta::assert_snapshot!(sandbox.run(&["--json", "call", "github.search"]), @r#"
    --- stdout
    {"v":1,"error":{"kind":"not_found","message":"no server is called `github`","server":"github","tool":null,"hint":"configured servers: fs, web","retry_after_ms":null}}
    --- stderr
    error: no server is called `github`
    hint: configured servers: fs, web
    --- exit 3
    "#);
    insta::assert_snapshot!(sandbox.run(&["call", "mcp__github__search"]), @r"
    --- stderr
    error: no tool is called `mcp__github__search`
    hint: `herm tools` shows what there is; a tool is named `mcp__SERVER__TOOL` or `SERVER.TOOL`
    --- exit 3
    ");
    insta::assert_snapshot!(sandbox.run(&["prompt", "nothing"]), @r"
    --- stderr
    error: no prompt is called `nothing`
    hint: a prompt is named `SERVER.NAME`: `herm prompts` shows all
    --- exit 3
    ");
}

#[test]
fn without_a_configuration_it_says_where_it_looked_and_what_it_found() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["tools"]), @r"
    --- stderr
    error: there is no configuration at `DIR/home/config.yaml`
    hint: write `mcp_servers:` into `DIR/home/config.yaml`, or name a file with --config; `herm demo` needs none
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["list", "--json"]), @r#"
    --- stdout
    {"v":1,"servers":[]}
    --- stderr
    there is no configuration at `DIR/home/config.yaml`
    hint: write `mcp_servers:` into `DIR/home/config.yaml`, or name a file with --config; `herm demo` needs none
    --- exit 0
    "#);
    sandbox.write("me/.hermes/config.yaml", TWO.as_bytes());
    insta::assert_snapshot!(sandbox.run(&["check"]), @r"
    --- stderr
    error: there is no configuration at `DIR/home/config.yaml`
    hint: found `DIR/me/.hermes/config.yaml`: use it with `herm --config DIR/me/.hermes/config.yaml`, or set HERM_HOME to its folder
    --- exit 2
    ");
    let config = sandbox.path("me/.hermes/config.yaml");
    let named = sandbox.output(&["list", "--config", config.to_str().unwrap()]);
    assert!(named.status.success());
}

#[test]
fn a_faulty_line_of_secrets_is_not_shown_and_no_line_of_another_file_is() {
    let sandbox = Sandbox::with("mcp_servers:\n  fs:\n    command: cat\n");
    sandbox.write("home/.env", b"A=b\nhunter2\n");
    insta::assert_snapshot!(sandbox.run(&["--quiet", "check"]).lines().rev().take(4).collect::<Vec<_>>().join("\n"), @r"
    --- exit 0
      hint: the line is ignored until it is corrected
    warning: DIR/home/.env:2:1: the line is not of the form `NAME=value`
    --- stderr
    ");
}

#[test]
fn secrets_that_cannot_be_read_are_said_to_be_missing() {
    let sandbox = Sandbox::with("mcp_servers:\n  fs:\n    command: cat\n    args: [\"${KEY}\"]\n");
    std::fs::create_dir(sandbox.path("home/.env")).unwrap();
    insta::assert_snapshot!(sandbox.run(&["list"]), @r"
    --- stdout
    Name  Transport  Target                                    Tools         Known                     State
    fs    stdio      cat ${KEY}                                all           -                         idle
    --- stderr
    warning: `DIR/home/.env` cannot be read: it is a directory
    --- exit 0
    ");
}
