//! One server as configured, every default filled in, secrets hidden.

use std::time::Duration;

use herm_core::config::{
    Approve, Http, HttpKind, Protocol, Server, Stdio, Template, Transport, Trust, Verify,
};
use serde_json::{Map, Value, json};

const HIDDEN: &str = "[REDACTED]";
/// Words in the name of an option whose value is nobody's business.
const SECRET_WORDS: [&str; 9] =
    ["token", "secret", "password", "passwd", "key", "auth", "credential", "cookie", "bearer"];
/// What well-known tokens begin with.
const TOKEN_STARTS: [&str; 10] =
    ["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "eyJ", "hf_"];

/// `stdio`, `http` or `sse`.
pub(crate) fn transport(server: &Server) -> &'static str {
    match &server.transport {
        Transport::Stdio(_) => "stdio",
        Transport::Http(http) if http.kind == HttpKind::Sse => "sse",
        Transport::Http(_) => "http",
        _ => "?", // a transport that a newer core may add
    }
}

/// The command with its arguments, or the URL: for a table.
pub(crate) fn target(server: &Server) -> String {
    match &server.transport {
        Transport::Stdio(stdio) => {
            let args = arguments(&stdio.args);
            [vec![stdio.command.0.clone()], args].concat().join(" ")
        }
        Transport::Http(http) => url(&http.url),
        _ => "?".to_owned(), // as above
    }
}

/// `all`, `N selected` or `-N excluded`.
pub(crate) fn tools(server: &Server) -> String {
    match (&server.tools.include, server.tools.exclude.len()) {
        (Some(include), _) => format!("{} selected", include.len()),
        (None, 0) => "all".to_owned(),
        (None, excluded) => format!("-{excluded} excluded"),
    }
}

/// The effective configuration: each key that has a value, in the order of the documentation.
pub(crate) fn effective(server: &Server) -> Value {
    let mut map = Map::new();
    match &server.transport {
        Transport::Stdio(stdio) => put_stdio(&mut map, stdio),
        Transport::Http(http) => put_http(&mut map, http),
        _ => {} // as above
    }
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("protocol", protocol(&server.protocol).into());
    let limits = &server.limits;
    put("connect_timeout", seconds(limits.connect));
    put("list_timeout", seconds(limits.list));
    put("start_timeout", seconds(limits.start));
    put("timeout", seconds(limits.call_idle));
    put("max_timeout", seconds(limits.call_absolute));
    put("queue_timeout", seconds(limits.queue));
    put("keepalive_interval", seconds(server.upkeep.keepalive));
    put("idle_timeout_seconds", server.upkeep.idle.map_or(Value::Null, seconds));
    put("max_lifetime_seconds", server.upkeep.lifetime.map_or(Value::Null, seconds));
    put("lazy", server.lazy.into());
    put("enabled", server.enabled.into());
    put("required", server.required.into());
    put("trust", trust(server.trust).into());
    put("approve", approve(server.approve).into());
    put("tools", choice(server));
    put("expose_as", server.expose_as.clone().into());
    put("max_concurrent_calls", limits.concurrent_calls.into());
    put("max_message_bytes", limits.message_bytes.into());
    put("max_result_chars", limits.result_chars.into());
    put("auth", server.auth.clone().into());
    put("breaker", breaker(server));
    put("supervision", supervision(server));
    map.retain(|_, value| !value.is_null());
    Value::Object(map)
}

fn put_stdio(map: &mut Map<String, Value>, stdio: &Stdio) {
    map.insert("command".to_owned(), stdio.command.0.clone().into());
    map.insert("args".to_owned(), arguments(&stdio.args).into());
    map.insert("env".to_owned(), secrets(&stdio.env));
    map.insert("cwd".to_owned(), stdio.cwd.as_ref().map(|cwd| cwd.0.clone()).into());
    map.insert("pass_env".to_owned(), stdio.pass_env.clone().into());
}

fn put_http(map: &mut Map<String, Value>, http: &Http) {
    let kind = match http.kind {
        HttpKind::Auto => "auto",
        HttpKind::Streamable => "http",
        HttpKind::Sse => "sse",
    };
    let verify = match &http.verify {
        Verify::Platform => true.into(),
        Verify::DangerousNone => false.into(),
        Verify::Bundle(file) => file.0.clone().into(),
    };
    let identity = http.identity.as_ref();
    let key = identity.and_then(|identity| identity.key.as_ref());
    map.insert("url".to_owned(), url(&http.url).into());
    map.insert("headers".to_owned(), secrets(&http.headers));
    map.insert("transport".to_owned(), kind.into());
    map.insert("ssl_verify".to_owned(), verify);
    map.insert("client_cert".to_owned(), identity.map(|identity| identity.cert.0.clone()).into());
    map.insert("client_key".to_owned(), key.map(|key| key.0.clone()).into());
    map.insert("proxy".to_owned(), http.proxy.as_ref().map(url).into());
}

fn choice(server: &Server) -> Value {
    let tools = &server.tools;
    json!({"include": tools.include, "exclude": tools.exclude,
           "resources": tools.resources, "prompts": tools.prompts})
}

fn breaker(server: &Server) -> Value {
    let breaker = &server.breaker;
    json!({"threshold": breaker.threshold, "cooldown_seconds": seconds(breaker.cooldown)})
}

fn supervision(server: &Server) -> Value {
    let s = &server.supervision;
    json!({
        "backoff_initial": seconds(s.backoff_initial), "backoff_max": seconds(s.backoff_max),
        "park_after": s.park_after, "park_interval": seconds(s.park_interval),
        "park_max": seconds(s.park_max), "proof": seconds(s.proof), "allowance": s.allowance,
        "allowance_refill": seconds(s.allowance_refill),
        "allowance_earn": seconds(s.allowance_earn),
        "probe_timeout": seconds(s.probe_timeout), "spawn_timeout": seconds(s.spawn_timeout),
        "stop_grace": seconds(s.stop_grace), "term_grace": seconds(s.term_grace),
    })
}

fn protocol(protocol: &Protocol) -> String {
    match protocol {
        Protocol::Auto => "auto".to_owned(),
        Protocol::Stateless => "stateless".to_owned(),
        Protocol::Legacy => "legacy".to_owned(),
        Protocol::Pinned(revision) => super::revision(*revision).to_owned(),
    }
}

fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::Full => "full",
        Trust::Untrusted => "untrusted",
    }
}

fn approve(approve: Approve) -> &'static str {
    match approve {
        Approve::Writes => "writes",
        Approve::All => "all",
    }
}

/// A whole number where it is one.
fn seconds(time: Duration) -> Value {
    if time.subsec_nanos() == 0 { time.as_secs().into() } else { time.as_secs_f64().into() }
}

/// Values of `env` and `headers`: only variables are shown.
fn secrets(pairs: &[(String, Template)]) -> Value {
    let shown = |(name, value): &(String, Template)| (name.clone(), Value::from(secret(&value.0)));
    Value::Object(pairs.iter().map(shown).collect())
}

fn secret(text: &str) -> String {
    Template(text.to_owned()).hidden()
}

/// Arguments of a command: values of options that sound secret, and what looks like a token, go.
fn arguments(args: &[Template]) -> Vec<String> {
    let mut value_is_secret = false;
    let mut shown = Vec::with_capacity(args.len());
    for Template(arg) in args {
        let hidden = std::mem::take(&mut value_is_secret) && !arg.starts_with('-');
        shown.push(match arg.split_once('=') {
            _ if hidden => secret(arg),
            Some((name, value)) if sounds_secret(name) || is_token(value) => {
                format!("{name}={}", secret(value))
            }
            _ if is_token(arg) => HIDDEN.to_owned(),
            _ if arg.contains("://") => url(&Template(arg.clone())),
            _ => {
                value_is_secret = arg.starts_with('-') && sounds_secret(arg);
                arg.clone()
            }
        });
    }
    shown
}

fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn is_token(text: &str) -> bool {
    text.len() >= 16 && TOKEN_STARTS.iter().any(|start| text.starts_with(start))
}

/// A URL without user, password and the values of its query. It may hold variables, so it is cut by
/// hand.
fn url(Template(text): &Template) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.clone() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let (path, query) = path.split_once('?').map_or((path, None), |(path, q)| (path, Some(q)));
    let query = query.map_or(String::new(), |query| {
        let part = |part: &str| match part.split_once('=') {
            Some((name, value)) => format!("{name}={}", secret(value)),
            None => HIDDEN.to_owned(),
        };
        format!("?{}", query.split('&').map(part).collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{authority}{path}{query}")
}

/// A value as YAML, for people.
pub(crate) fn yaml(value: &Value, indent: usize) -> String {
    let Some(map) = value.as_object() else { return value.to_string() };
    let pad = " ".repeat(indent);
    let lines = map.iter().map(|(key, value)| match value {
        Value::Object(inner) if !inner.is_empty() => {
            format!("{pad}{key}:\n{}", yaml(value, indent + 2))
        }
        Value::String(text) if is_plain(text) => format!("{pad}{key}: {text}"),
        // JSON is YAML: lists, numbers, texts that need quotes.
        _ => format!("{pad}{key}: {value}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !text.contains(": ")
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.:@+".contains(c))
        && !matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off")
}

#[cfg(test)]
mod tests {
    use super::{arguments, effective, secret, url, yaml};
    use herm_core::config::{Server, Stdio, Template, Transport};

    #[test]
    fn secrets_do_not_show() {
        let table = [
            ("hunter2", "[REDACTED]"),
            ("${TOKEN}", "${TOKEN}"),
            ("Bearer ${env:TOKEN}", "[REDACTED]${env:TOKEN}"),
            ("Bearer abc", "[REDACTED]"),
            ("${TOKEN:-hunter2}", "${TOKEN}"),
            ("${A}hunter2${B}", "${A}[REDACTED]${B}"),
        ];
        for (value, shown) in table {
            assert_eq!(secret(value), shown, "{value}");
        }
        let address = "https://me:pw@host:1/mcp?key=abc&t=${T}&x#f";
        assert_eq!(
            url(&Template(address.to_owned())),
            "https://[REDACTED]@host:1/mcp?key=[REDACTED]&t=${T}&[REDACTED]"
        );
        let args = "-y pkg --api-key hunter2 --token=abc --flag sk-0123456789abcdef KEY=v --auth --port 80 postgres://u:p@h/db";
        let args: Vec<_> = args.split(' ').map(|arg| Template(arg.to_owned())).collect();
        assert_eq!(
            arguments(&args).join(" "),
            "-y pkg --api-key [REDACTED] --token=[REDACTED] --flag [REDACTED] KEY=[REDACTED] --auth --port 80 postgres://[REDACTED]@h/db"
        );
    }

    #[test]
    fn a_server_is_shown_with_every_default() {
        let stdio = Stdio {
            command: Template("npx".to_owned()),
            env: vec![("KEY".to_owned(), Template("hunter2".to_owned()))],
            ..Stdio::default()
        };
        let server = Server::new("fs".parse().unwrap(), Transport::Stdio(stdio));
        insta::assert_snapshot!(yaml(&effective(&server), 2), @r#"
        command: npx
        args: []
        env:
          KEY: "[REDACTED]"
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
          include: null
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
        "#);
    }
}
