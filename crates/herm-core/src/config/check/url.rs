//! The keys of a server with `url`.

use super::block::{Block, boolean};
use super::process::{pairs, template};
use super::report::{Report, join};
use crate::config::interpolate::{has_variable, web_address};
use crate::config::server::{Http, HttpKind, Identity, Origin, Template, Verify};
use crate::config::tree::{Node, Value};

pub(super) fn read(block: &Block<'_>, origin: &mut Origin, report: &mut Report) -> Option<Http> {
    let kinds = [
        ("auto", HttpKind::Auto),
        ("http", HttpKind::Streamable),
        ("streamable-http", HttpKind::Streamable),
        ("streamable_http", HttpKind::Streamable),
        ("sse", HttpKind::Sse),
    ];
    let kind = block.word("transport", &kinds, report).unwrap_or_default();
    let headers = pairs(block, "headers", origin, report);
    check_headers(&headers, origin, report);
    let verify = verify(block, origin, report);
    let identity = identity(block, origin, report);
    let proxy = template(block, "proxy", origin, report);
    let url = template(block, "url", origin, report)?;
    if !has_variable(&url.0)
        && let Err(message) = web_address(&url.0)
        && let Some(node) = block.get("url")
    {
        report
            .error(node.place, "url", message)
            .hint("an address such as `https://example.com/mcp`");
    }
    Some(Http { url, headers, kind, verify, identity, proxy })
}

fn check_headers(headers: &[(String, Template)], origin: &Origin, report: &mut Report) {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    for (index, (name, _)) in headers.iter().enumerate() {
        let path = join("headers", name);
        let place = origin.fields.get(path.as_str()).copied().unwrap_or_default();
        if name.is_empty() || !name.chars().all(token) {
            report.error(place, &path, "cannot be the name of a header");
        }
        if headers.iter().take(index).any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            report
                .error(place, &path, "stands twice: the case of a header's name does not count")
                .hint("remove one of the two");
        }
    }
}

/// A word for true or false, or the path of a bundle.
fn verify(block: &Block<'_>, origin: &mut Origin, report: &mut Report) -> Verify {
    let Some(node) = block.get("ssl_verify") else { return Verify::Platform };
    match node.text().map(str::trim).map(boolean) {
        Some(Some(true)) => Verify::Platform,
        Some(Some(false)) => {
            report
                .warn(
                    node.place,
                    "ssl_verify",
                    "is off: anyone on the way can read and change the traffic",
                )
                .hint("give the path of your CA's certificate instead of false");
            Verify::DangerousNone
        }
        Some(None) => {
            template(block, "ssl_verify", origin, report).map_or(Verify::Platform, Verify::Bundle)
        }
        None => {
            block.wrong(node, "ssl_verify", "true, false or a path", report);
            Verify::Platform
        }
    }
}

/// `client_cert`: one path, with or without `client_key`; or a list of both paths.
fn identity(block: &Block<'_>, origin: &mut Origin, report: &mut Report) -> Option<Identity> {
    let key = block.get("client_key");
    let Some(node) = block.get("client_cert") else {
        if let Some(key) = key {
            report.error(key.place, "client_key", "stands without `client_cert`");
        }
        return None;
    };
    let Value::Sequence(items) = &node.value else {
        let cert = template(block, "client_cert", origin, report)?;
        let key = key.and_then(|_| template(block, "client_key", origin, report));
        return Some(Identity { cert, key });
    };
    if let Some(key) = key {
        report
            .error(key.place, "client_key", "stands beside a list in `client_cert`")
            .hint("give the key once");
    }
    pair_of_paths(node, items, origin, report)
}

fn pair_of_paths(
    node: &Node,
    items: &[Node],
    origin: &mut Origin,
    report: &mut Report,
) -> Option<Identity> {
    let texts: Option<Vec<&str>> = items.iter().map(Node::text).collect();
    match texts.as_deref() {
        Some([cert, key]) => {
            origin.fields.insert("client_cert".into(), node.place);
            origin.fields.insert("client_key".into(), node.place);
            let path = |text: &str| Template(text.trim().to_owned());
            Some(Identity { cert: path(cert), key: Some(path(key)) })
        }
        Some([_, _, _]) => {
            report
                .error(node.place, "client_cert", "a key with a passphrase cannot be used")
                .hint("store the key without one, readable by you alone");
            None
        }
        _ => {
            report.error(
                node.place,
                "client_cert",
                "should be a path, or a list of certificate and key",
            );
            None
        }
    }
}
