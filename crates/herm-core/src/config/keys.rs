//! Every key that herm knows. The checker accepts what stands here, the documentation lists it.

/// One key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Key {
    /// Its path below `mcp_servers.<name>` (`tools.include`); at the top of the file for [`TOP`].
    pub path: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// Its default, in words; `–` if it has none.
    pub default: &'static str,
    /// Whether it does something yet.
    pub effect: Effect,
}

/// Whether a key does something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// For every server.
    Any,
    /// For a server with `command`.
    Stdio,
    /// For a server with `url`.
    Http,
    /// Accepted, so that a file of the reference system works; without effect yet.
    Later,
}

const fn key(
    path: &'static str,
    takes: &'static str,
    default: &'static str,
    effect: Effect,
) -> Key {
    Key { path, takes, default, effect }
}

use Effect::{Any, Http, Later, Stdio};

/// Keys at the top of the file. All others there are left alone.
pub const TOP: &[Key] = &[
    key("mcp_servers", "mapping", "–", Any),
    key("default_protocol", "protocol", "`auto`", Any),
    key("supervision", "mapping", "–", Any),
    key("auto_reload", "boolean", "`true`", Any),
    key("mcp.auto_reload_on_config_change", "boolean", "`true`", Any),
    key("mcp.client", "boolean", "`true`", Any),
    key("mcp.stdio_servers", "boolean", "`true`", Any),
    key("timeouts.mcp.tool_call", "seconds", "300", Any),
];

/// Keys below `mcp_servers.<name>`.
pub const KEYS: &[Key] = &[
    key("command", "text", "–", Stdio),
    key("args", "list of text, or text", "empty", Stdio),
    key("env", "mapping to text", "empty", Stdio),
    key("cwd", "path", "herm's own", Stdio),
    key("pass_env", "list of names", "empty", Stdio),
    key("url", "URL", "–", Http),
    key("headers", "mapping to text", "empty", Http),
    key("transport", "`auto`, `http`, `sse`", "`auto`", Any),
    key("ssl_verify", "boolean or path", "`true`", Http),
    key("client_cert", "path, or list of two", "–", Http),
    key("client_key", "path", "–", Http),
    key("proxy", "URL", "the environment's", Http),
    key("protocol", "`auto`, `stateless`, `legacy`, or a date", "`auto`", Any),
    key("connect_timeout", "seconds", "60", Any),
    key("list_timeout", "seconds", "`connect_timeout`", Any),
    key("start_timeout", "seconds", "`connect_timeout` + `list_timeout`", Any),
    key("timeout", "seconds", "300", Any),
    key("max_timeout", "seconds", "3600", Any),
    key("queue_timeout", "seconds", "30", Any),
    key("keepalive_interval", "seconds", "180", Any),
    key("idle_timeout_seconds", "seconds", "off", Stdio),
    key("max_lifetime_seconds", "seconds", "off", Stdio),
    key("lifecycle", "mapping", "–", Stdio),
    key("lifecycle.idle_timeout_seconds", "seconds", "off", Stdio),
    key("lifecycle.max_lifetime_seconds", "seconds", "off", Stdio),
    key("lazy", "boolean", "`false`", Any),
    key("enabled", "boolean", "`true`", Any),
    key("required", "boolean", "`false`", Any),
    key("trust", "`full` or `untrusted`", "`full`", Any),
    key("approve", "`writes` or `all`", "`writes`", Any),
    key("tools", "mapping, list, or text", "all", Any),
    key("tools.include", "list of patterns, or text", "all", Any),
    key("tools.exclude", "list of patterns, or text", "none", Any),
    key("tools.resources", "boolean", "`true`", Any),
    key("tools.prompts", "boolean", "`true`", Any),
    key("expose_as", "text", "the name", Any),
    key("max_concurrent_calls", "number", "16", Any),
    key("max_message_bytes", "number", "16777216", Any),
    key("max_result_chars", "number", "2000000", Any),
    key("auth", "`oauth`", "–", Http),
    key("breaker", "mapping", "–", Any),
    key("breaker.threshold", "number", "3", Any),
    key("breaker.cooldown_seconds", "seconds", "60", Any),
    key("supervision", "mapping", "–", Any),
    key("supervision.backoff_initial", "seconds", "1", Any),
    key("supervision.backoff_max", "seconds", "60", Any),
    key("supervision.park_after", "number", "5", Any),
    key("supervision.park_interval", "seconds", "300", Any),
    key("supervision.park_max", "seconds", "1800", Any),
    key("supervision.proof", "seconds", "60", Any),
    key("supervision.allowance", "number", "16", Any),
    key("supervision.allowance_refill", "seconds", "1800", Any),
    key("supervision.allowance_earn", "seconds", "900", Any),
    key("supervision.probe_timeout", "seconds", "30", Any),
    key("supervision.spawn_timeout", "seconds", "10", Any),
    key("supervision.stop_grace", "seconds", "2", Any),
    key("supervision.term_grace", "seconds", "3", Any),
    key("oauth", "mapping", "–", Later),
    key("oauth.client_id", "text", "–", Later),
    key("oauth.client_secret", "text", "–", Later),
    key("oauth.scope", "text", "–", Later),
    key("oauth.redirect_port", "number", "–", Later),
    key("oauth.redirect_uri", "URL", "–", Later),
    key("oauth.redirect_host", "text", "–", Later),
    key("oauth.client_name", "text", "–", Later),
    key("oauth.timeout", "seconds", "–", Later),
    key("oauth.token_endpoint_auth_method", "text", "–", Later),
    key("oauth.application_type", "text", "–", Later),
    key("oauth.client_metadata_url", "URL", "–", Later),
    key("oauth.cimd", "boolean", "–", Later),
    key("oauth.user_agent", "text", "–", Later),
    key("oauth.flow", "text", "–", Later),
    key("sampling", "mapping or boolean", "–", Later),
    key("sampling.enabled", "boolean", "–", Later),
    key("sampling.model", "text", "–", Later),
    key("sampling.allowed_models", "list of text", "–", Later),
    key("sampling.max_tokens_cap", "number", "–", Later),
    key("sampling.timeout", "seconds", "–", Later),
    key("sampling.max_rpm", "number", "–", Later),
    key("sampling.max_tool_rounds", "number", "–", Later),
    key("sampling.log_level", "text", "–", Later),
    key("sampling.expose_client_tools", "boolean", "–", Later),
    key("elicitation", "mapping or boolean", "–", Later),
    key("elicitation.enabled", "boolean", "–", Later),
    key("elicitation.timeout", "seconds", "–", Later),
    key("roots", "list of paths", "–", Later),
    key("identity_header", "mapping", "–", Later),
    key("identity_header.name", "text", "–", Later),
    key("identity_header.value_from", "text", "–", Later),
    key("identity_header.value", "text", "–", Later),
    key("skip_preflight", "boolean", "–", Later),
    key("strict_redirect_headers", "boolean", "–", Later),
    key("supports_parallel_tool_calls", "boolean", "–", Later),
    key("skills", "mapping", "–", Later),
    key("skills.enabled", "boolean", "–", Later),
    key("scope", "text", "–", Later),
];

/// The key of this path below `mcp_servers.<name>`.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Names directly below `block` (`""` for the entry itself).
pub(super) fn below(block: &str) -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(move |key| {
        let name = match block {
            "" => key.path,
            block => key.path.strip_prefix(block)?.strip_prefix('.')?,
        };
        (!name.contains('.')).then_some(name)
    })
}

/// The candidate that `written` was most likely meant to be, whatever its case, `-` and `_`.
pub(super) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The measure takes time with the product of the lengths; no key is this long.
    const LONGEST: usize = 64;
    if written.len() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', ' ', '_'], "");
    let written = plain(written);
    let bound = (written.chars().count() / 3).max(1);
    known
        .map(|name| (strsim::damerau_levenshtein(&written, &plain(name)), name))
        .filter(|(distance, _)| *distance <= bound)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
