use std::time::Duration;

use super::*;
use crate::config::*;

fn yaml(text: &str) -> Checked {
    check(text.as_bytes(), "config.yaml")
}

fn json(text: &str) -> Checked {
    check(text.as_bytes(), "mcp.json")
}

/// The one server of a file without errors.
fn one(checked: &Checked) -> Server {
    assert_eq!(checked.errors, []);
    checked.config.ready().next().expect("a server").clone()
}

/// Below one stdio server.
fn entry(keys: &str) -> Checked {
    yaml(&format!("mcp_servers:\n  s:\n    command: x\n{keys}"))
}

/// Line, column, key and message of each.
fn brief(issues: &[Issue]) -> Vec<String> {
    let text = |i: &Issue| {
        let key = i.key.as_deref().unwrap_or("-");
        format!("{}:{} {key}: {}", i.line.unwrap_or(0), i.column.unwrap_or(0), i.message)
    };
    issues.iter().map(text).collect()
}

fn stdio(server: &Server) -> &Stdio {
    match &server.transport {
        Transport::Stdio(stdio) => stdio,
        Transport::Http(_) => panic!("not stdio"),
    }
}

fn http(server: &Server) -> &Http {
    match &server.transport {
        Transport::Http(http) => http,
        Transport::Stdio(_) => panic!("not http"),
    }
}

fn texts(templates: &[Template]) -> Vec<&str> {
    templates.iter().map(|template| template.0.as_str()).collect()
}

#[test]
fn a_missing_key_has_its_default() {
    let server = one(&entry(""));
    let limits = &server.limits;
    assert_eq!(limits.list, Duration::from_secs(60));
    assert_eq!(limits.start, Duration::from_secs(120));
    assert!(server.enabled && !server.lazy && !server.required);
    let server = one(&entry("    connect_timeout: 7\n    list_timeout: '2.5'\n"));
    assert_eq!(server.limits.start, Duration::from_millis(9500));
    let server = one(&entry("    connect_timeout: 7\n"));
    assert_eq!(server.limits.list, Duration::from_secs(7));
}

#[test]
fn source_text_of_arguments_and_variables_is_kept() {
    let server = one(&entry(
        "    args: [8080, 1.10, yes, 0x1F, '007', \"\"]\n    env: {PORT: 8080, V: 1.10, ON: yes}\n",
    ));
    assert_eq!(texts(&stdio(&server).args), ["8080", "1.10", "yes", "0x1F", "007", ""]);
    let env: Vec<_> = stdio(&server).env.iter().map(|(k, v)| (k.as_str(), v.0.as_str())).collect();
    assert_eq!(env, [("PORT", "8080"), ("V", "1.10"), ("ON", "yes")]);
    let server = one(&json(r#"{"mcpServers":{"s":{"command":"x","args":[8080,1.10,true]}}}"#));
    assert_eq!(texts(&stdio(&server).args), ["8080", "1.10", "true"]);
}

#[test]
fn json_under_a_name_of_yaml_is_an_error_and_not_silently_nothing() {
    let text = "{ // claude style\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}}\n}\n";
    let checked = yaml(text);
    assert_eq!(checked.errors.len(), 1, "{:?}", checked.errors);
    assert!(checked.errors[0].hint.as_ref().unwrap().contains("`.json`"), "{:?}", checked.errors);
    assert!(checked.is_bad_file() && checked.config.foreign.is_empty());
    assert_eq!(json(text).errors, []);
    // Other programs' keys are still theirs.
    assert_eq!(yaml("model: gpt\nsome/thing: 1\n").errors, []);
}

#[test]
fn a_list_or_block_with_nothing_in_it_is_empty_and_a_value_that_is_nothing_an_error() {
    let server = one(&entry("    args: null\n    env: ~\n    pass_env:\n    tools:\n"));
    assert!(stdio(&server).args.is_empty() && stdio(&server).env.is_empty());
    let checked = entry("    timeout: null\n");
    assert_eq!(brief(&checked.errors), ["4:14 timeout: should be a number of seconds, is nothing"]);
}

#[test]
fn null_among_texts_is_an_error() {
    let checked = entry("    args: [a, null]\n    env:\n      A:\n");
    let expected =
        ["4:15 args[1]: should be text, is nothing", "6:8 env.A: should be text, is nothing"];
    assert_eq!(brief(&checked.errors), expected);
    assert_eq!(texts(&stdio(&one(&entry("    args:\n    env:\n"))).args), [""; 0]);
}

#[test]
fn text_for_args_is_read_in_all_its_old_forms() {
    for (written, expected) in [
        ("-y pkg 'a b'", vec!["-y", "pkg", "a b"]),
        ("'[\"-y\", 8080]'", vec!["-y", "8080"]),
        ("\"['-y', 'a b']\"", vec!["-y", "a b"]),
    ] {
        assert_eq!(texts(&stdio(&one(&entry(&format!("    args: {written}\n")))).args), expected);
    }
    assert!(entry("    args: \"'open\"\n").errors[0].message.contains("not closed"));
}

#[test]
fn spellings_of_the_reference_are_accepted() {
    for (word, value) in [("true", true), ("Yes", true), ("ON", true), ("1", true), ("off", false)]
    {
        assert_eq!(one(&entry(&format!("    enabled: {word}\n"))).enabled, value, "{word}");
        assert_eq!(one(&entry(&format!("    enabled: '{word}'\n"))).enabled, value, "{word}");
    }
    for (word, value) in [
        ("modern", Protocol::Stateless),
        ("handshake", Protocol::Legacy),
        ("2026-07-28", Protocol::Pinned(Revision::V2026_07_28)),
        ("2025-06-18", Protocol::Pinned(Revision::V2025_06_18)),
    ] {
        assert_eq!(one(&entry(&format!("    protocol: {word}\n"))).protocol, value);
    }
    for (word, value) in [
        ("http", HttpKind::Streamable),
        ("streamable-http", HttpKind::Streamable),
        ("streamable_http", HttpKind::Streamable),
        ("SSE", HttpKind::Sse),
    ] {
        let text = format!("mcp_servers: {{s: {{url: 'https://h/x', transport: {word}}}}}");
        assert_eq!(http(&one(&yaml(&text))).kind, value);
    }
    let server = one(&entry("    tools: a, b* c\n    lifecycle: {idle_timeout_seconds: '90'}\n"));
    assert_eq!(server.tools.include.unwrap(), ["a", "b*", "c"]);
    assert_eq!(server.upkeep.idle, Some(Duration::from_secs(90)));
    assert_eq!(one(&entry("    tools: [a b]\n")).tools.include.unwrap(), ["a b"]);
    let off =
        one(&entry("    idle_timeout_seconds: 0\n    lifecycle: {idle_timeout_seconds: 9}\n"));
    assert_eq!(off.upkeep.idle, None);
}

#[test]
fn all_errors_of_a_file_come_at_once_and_block_only_their_server() {
    let checked = yaml(
        "mcp_server: {}\nmcp_servers:\n  good: {command: x}\n  bad/name: {command: x}\n  \
         typo: {comand: x}\n  both: {command: x, url: 'https://h'}\n  list: [1]\n  \
         types: {command: x, timeout: soon, lazy: maybe, max_concurrent_calls: 1.5, args: {}}\n  \
         url: {url: 'ftp://h/'}\n  also_good: {url: 'https://h/mcp'}\n",
    );
    let names: Vec<_> = checked.config.ready().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["good", "also_good"]);
    assert_eq!(checked.config.servers.len(), 8);
    assert_eq!(
        brief(&checked.errors),
        [
            "1:1 mcp_server: the key `mcp_server` is unknown",
            "4:3 -: a server name cannot contain '/'",
            "5:3 -: has neither `command` nor `url`",
            "5:10 comand: the key `comand` is unknown",
            "6:19 command: a server has either `command` or `url`, not both",
            "7:9 -: should be a mapping, is a list",
            "8:32 timeout: should be a number of seconds, is text",
            "8:44 lazy: should be true or false, is text",
            "8:73 max_concurrent_calls: should be a whole number, is a number",
            "8:84 args: should be a list, is a mapping",
            "9:14 url: should begin with `http://` or `https://`",
        ]
    );
    assert_eq!(checked.errors[0].hint.as_deref(), Some("did you mean `mcp_servers`?"));
    assert_eq!(checked.errors[3].hint.as_deref(), Some("did you mean `command`?"));
    let Some(Configured::Blocked { issues, .. }) = checked.config.get("types") else { panic!() };
    assert_eq!(issues.len(), 4);
}

#[test]
fn a_typo_is_answered_with_the_nearest_key() {
    for (typo, meant) in [
        ("tols: []", "tools"),
        ("timeot: 3", "timeout"),
        ("keepaliveInterval: 9", "keepalive_interval"),
        ("tools: {inclde: [a]}", "include"),
        ("supervision: {backof_max: 3}", "backoff_max"),
        ("oauth: {clientid: x}", "client_id"),
        ("protocol: statless", "stateless"),
    ] {
        let checked = entry(&format!("    {typo}\n"));
        assert_eq!(checked.errors.len(), 1, "{typo}");
        assert_eq!(checked.errors[0].hint, Some(format!("did you mean `{meant}`?")));
    }
}

#[test]
fn a_word_of_another_client_is_answered_with_ours() {
    let checked = entry("    disabled: true\n    type: stdio\n");
    let hints: Vec<_> = checked.errors.iter().filter_map(|issue| issue.hint.as_deref()).collect();
    assert_eq!(hints, ["write `enabled: false`", "write `transport`, or nothing beside `command`"]);
}

#[test]
fn a_repeated_key_is_an_error_with_both_places() {
    let checked = yaml(
        "mcp_servers:\n  a:\n    command: x\n    command: y\n  b: {command: x}\n  b: {command: y}\n  c: {command: x}\n",
    );
    let expected = [
        "4:5 command: the key `command` stands twice, first on line 3, column 5",
        "6:3 -: the server stands twice, first on line 5, column 3",
    ];
    assert_eq!(brief(&checked.errors), expected);
    assert_eq!(checked.config.ready().count(), 1);
}

#[test]
fn doubtful_values_are_used_with_a_warning() {
    let checked = entry(
        "    trust: untrustd\n    keepalive_interval: 0.1\n    supervision: {proof: 0.001}\n",
    );
    let warned = brief(&checked.warnings).join("\n");
    let server = one(&checked);
    assert_eq!(server.trust, Trust::Untrusted);
    assert_eq!(server.upkeep.keepalive, Duration::from_millis(500));
    assert_eq!(server.supervision.proof, Duration::from_millis(50));
    for word in ["untrusted", "0.5", "under 5 seconds", "0.05"] {
        assert!(warned.contains(word), "{word}: {warned}");
    }
}

#[test]
fn keys_without_effect_are_named_once() {
    let checked = entry(
        "    oauth: {client_id: x}\n    sampling: false\n    roots: [/a]\n    headers: {A: b}\n    url:\n",
    );
    // An empty `url` is a second transport all the same.
    assert_eq!(checked.errors.len(), 1);
    let checked = entry(
        "    oauth: {client_id: x}\n    sampling: false\n    roots: [/a]\n    headers: {A: b}\n",
    );
    assert_eq!(
        brief(&checked.warnings),
        [
            "2:3 -: without effect on a server with `command`: `headers`",
            "2:3 -: has no effect yet: `oauth`, `sampling`, `roots`",
        ]
    );
}

#[test]
fn a_hermes_file_is_read_as_it_stands() {
    let checked = yaml(
        "model: {default: x}\nmcp_discovery_timeout: 3\nmcp: {stdio_servers: false}\n\
         timeouts: {mcp: {tool_call: 42}}\ndefault_protocol: legacy\nsupervision: {park_after: 9}\n\
         mcp_servers:\n  fs:\n    command: npx\n    args: [-y, pkg]\n    supports_parallel_tool_calls: true\n  \
         web:\n    url: https://h/mcp\n    headers: {Authorization: 'Bearer ${T}'}\n    auth: OAuth\n    \
         protocol: auto\n    supervision: {proof: 1}\n    timeout: 5\n",
    );
    assert_eq!(checked.errors, []);
    assert_eq!(checked.config.foreign, ["model", "mcp_discovery_timeout", "mcp", "timeouts"]);
    let servers: Vec<_> = checked.config.ready().collect();
    assert!(!servers[0].enabled && servers[1].enabled);
    assert_eq!(servers[0].limits.call_idle, Duration::from_secs(42));
    assert_eq!(servers[1].limits.call_idle, Duration::from_secs(5));
    assert_eq!((&servers[0].protocol, &servers[1].protocol), (&Protocol::Legacy, &Protocol::Auto));
    assert_eq!(servers[1].supervision.park_after, 9);
    assert_eq!(servers[1].supervision.proof, Duration::from_secs(1));
    assert_eq!(servers[1].auth.as_deref(), Some("oauth"));
}

#[test]
fn json_of_claude_and_cursor_is_read_as_it_stands() {
    let checked = json(
        "{\n\t\"theme\": 1,\n\t\"mcpServers\": {\n\t\t\"fs\": {\"type\": \"stdio\", \"command\": \"npx\", \
         \"args\": [\"-y\"], \"autoApprove\": [\"x\"], \"disabled\": true, \"timeout\": 60000},\n\t\t\
         \"web\": {\"type\": \"sse\", \"url\": \"https://h/sse\"},\n\t\t\"bad\": {\"comand\": \"x\"}\n\t}\n}",
    );
    assert_eq!(brief(&checked.errors).len(), 2);
    assert_eq!((checked.errors[1].line, checked.errors[1].column), (Some(6), Some(11)));
    let servers: Vec<_> = checked.config.ready().collect();
    assert!(!servers[0].enabled);
    assert_eq!(servers[0].limits.call_idle, Duration::from_secs(60));
    assert_eq!(http(servers[1]).kind, HttpKind::Sse);
    assert_eq!(checked.config.foreign, ["theme"]);
    assert!(brief(&checked.warnings).iter().any(|line| line.contains("`autoApprove`")));
}

#[test]
fn json_of_vs_code_is_read_as_it_stands() {
    let checked = json(
        "{ // mine\n \"inputs\": [{\"id\": \"k\"}], \"servers\": {\"s\": {\"type\": \"http\", \
         \"url\": \"https://h/mcp\", \"headers\": {\"A\": \"${input:k}\"}, \"dev\": {},}, }, }",
    );
    assert_eq!(checked.config.foreign, ["inputs"]);
    let server = one(&checked);
    assert_eq!(http(&server).kind, HttpKind::Streamable);
    let issues = server.resolve(&|_| None, &Places::default()).unwrap_err();
    assert!(issues[0].message.contains("input:k"));
}

#[test]
fn our_own_trust_survives_in_the_json_of_another_client() {
    let text = |trust| format!(r#"{{"mcpServers":{{"s":{{"command":"x","trust":{trust}}}}}}}"#);
    assert_eq!(one(&json(&text("\"untrusted\""))).trust, Trust::Untrusted);
    assert_eq!(one(&json(&text("true"))).trust, Trust::Full);
}

#[test]
fn two_servers_whose_tools_would_share_names_are_told_apart() {
    let checked = yaml(
        "mcp_servers:\n  my-api: {command: x}\n  My_API: {command: x}\n  my.api: {command: x, expose_as: other}\n  a__b: {command: x}\n",
    );
    assert_eq!(checked.errors.len(), 1);
    assert_eq!(checked.errors[0].server.as_deref(), Some("My_API"));
    assert!(checked.errors[0].message.contains("`my-api`"));
    assert!(checked.errors[0].hint.as_deref().unwrap().contains("expose_as"));
    assert_eq!(checked.config.ready().count(), 3);
    assert!(checked.warnings[0].message.contains("mcp__a_b_"));
}

#[test]
fn tls_keys_are_read_in_all_their_forms() {
    let read = |keys: &str| yaml(&format!("mcp_servers: {{s: {{url: 'https://h', {keys}}}}}"));
    assert!(matches!(http(&one(&read("ssl_verify: no"))).verify, Verify::DangerousNone));
    assert!(
        matches!(&http(&one(&read("ssl_verify: ~/ca.pem"))).verify, Verify::Bundle(t) if t.0 == "~/ca.pem")
    );
    let pair = one(&read("client_cert: [c.pem, k.pem]"));
    assert_eq!(http(&pair).identity.as_ref().unwrap().key.as_ref().unwrap().0, "k.pem");
    for bad in [
        "client_key: k",
        "client_cert: [c, k], client_key: k",
        "client_cert: [a, b, c]",
        "ssl_verify: []",
    ] {
        assert_eq!(read(bad).errors.len(), 1, "{bad}");
    }
}

#[test]
fn messages_repeat_no_secret() {
    let checked = yaml(
        "mcp_servers: {s: {url: 'htp://u:hunter2@h', headers: {A: [hunter2]}, proxy: {x: hunter2}}}",
    );
    assert_eq!(checked.errors.len(), 3);
    assert!(!format!("{checked:?}").contains("hunter2"));
}

#[test]
fn keys_of_any_length_and_kind_give_short_plain_messages() {
    let long = "k".repeat(1 << 20);
    let text =
        format!(r#"{{"mcpServers":{{"s\u001b[2J":{{"command":"x","\u001b]0;{long}":1}}}}}}"#);
    let checked = json(&text);
    assert_eq!(checked.errors.len(), 2);
    for issue in &checked.errors {
        let shown = issue.to_string();
        assert!(shown.len() < 2000 && !shown.contains('\u{1b}'), "{}", shown.len());
    }
}

#[test]
fn a_file_that_is_no_configuration_is_told_so() {
    for text in ["[1, 2]", "just text", "mcp_servers: 3", "a: [", "\u{1}"] {
        let checked = yaml(text);
        assert_eq!(checked.errors.len(), 1, "{text}");
        assert!(checked.config.unreadable && checked.config.servers.is_empty());
        assert!(checked.is_bad_file());
    }
    for text in ["", "# nothing\n", "mcp_servers:\n", "model: x\n", "mcp_servers: {}"] {
        let checked = yaml(text);
        assert_eq!(checked.errors, [], "{text}");
        assert!(!checked.config.unreadable);
    }
    // A typo here must not look like the removal of every server.
    assert!(yaml("mcp_sevrers:\n  s: {command: x}\n").is_bad_file());
    assert!(yaml("mcp_servers: {}\nmcp_servers: {}\n").is_bad_file());
    assert!(!yaml("mcp_servers:\n  s: {comand: x}\n").is_bad_file());
    let junk = "- x: [\n".repeat(1000) + &"mcp_servers:\n".repeat(3);
    assert!(!yaml(&junk).errors.is_empty());
}
