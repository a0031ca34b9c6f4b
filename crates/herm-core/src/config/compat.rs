//! The reference system's name for a connection, so that what it has kept can be taken over.

use std::fmt::Write as _;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::server::{HttpKind, Server, Target, Transport};

/// 16 hex digits of SHA-256 over the compact JSON, with sorted keys and escaped to ASCII, of `args`,
/// `command`, `tools_exclude`, `tools_include` (both sorted), `transport` and `url`, each after its
/// variables were replaced: the reference's formula. What is absent is null, a list that is absent is
/// empty.
#[must_use]
pub fn compat_fingerprint(server: &Server, target: &Target) -> String {
    let (args, command, url) = match target {
        Target::Stdio(stdio) => (&stdio.args[..], Some(&*stdio.command), None),
        Target::Http(http) => (&[][..], None, Some(http.url.expose())),
    };
    let transport = match &server.transport {
        Transport::Http(http) => match http.kind {
            HttpKind::Auto => None,
            HttpKind::Streamable => Some("http"),
            HttpKind::Sse => Some("sse"),
        },
        Transport::Stdio(_) => None,
    };
    of(args, command, (server.tools.include.as_deref(), &server.tools.exclude), transport, url)
}

fn of(
    args: &[String],
    command: Option<&str>,
    (include, exclude): (Option<&[String]>, &[String]),
    transport: Option<&str>,
    url: Option<&str>,
) -> String {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        array(&list)
    };
    let json = format!(
        "{{\"args\":{},\"command\":{},\"tools_exclude\":{},\"tools_include\":{},\"transport\":{},\"url\":{}}}",
        array(args),
        text(command),
        sorted(exclude),
        sorted(include.unwrap_or_default()),
        text(transport),
        text(url),
    );
    let mut digest = HEXLOWER.encode(&Sha256::digest(json.as_bytes()));
    digest.truncate(16);
    digest
}

fn array(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| text(Some(item))).collect();
    format!("[{}]", items.join(","))
}

/// A JSON text in ASCII; null if there is none.
fn text(text: Option<&str>) -> String {
    let Some(text) = text else { return "null".to_owned() };
    let mut out = String::with_capacity(text.len() + 2);
    // What JSON itself escapes, as serde_json does it; then what is not ASCII.
    for c in serde_json::to_string(text).unwrap_or_default().chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a text cannot fail.
            let _written = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::compat_fingerprint;
    use crate::config::{Places, check};

    #[test]
    fn it_is_the_references_own() {
        for (entry, expected) in [
            ("command: npx, args: [-y, xactions-mcp]", "b041845356ebe668"),
            ("url: 'https://mcp.example.com/mcp'", "c6176d900005bd4d"),
            (
                "url: 'https://mcp.example.com/mcp', transport: sse, tools: {include: [b, a], exclude: [z]}",
                "28aa4f5dba13dfc9",
            ),
            ("command: uvx, args: ['mcp-é']", "4e624d9e4c7dad62"),
            ("command: '${X}', args: [-y, xactions-mcp]", "b041845356ebe668"),
        ] {
            let text = format!("mcp_servers: {{s: {{{entry}}}}}");
            let checked = check(text.as_bytes(), "config.yaml");
            let server = checked.config.ready().next().expect(entry);
            let value = |_: &str| Some("npx".to_owned());
            let target = server.resolve(&value, &Places::default()).expect(entry);
            assert_eq!(compat_fingerprint(server, &target), expected, "{entry}");
        }
        assert_eq!(super::of(&[], None, (None, &[]), None, None), "38953fe0cbe0ee5f");
    }
}
