//! Step 2 of the walk: who owns a name, and what to say when nobody does.

use std::sync::Arc;

use herm_core::config::Server;
use herm_core::name::{ServerName, Utility, nearest};
use herm_core::wire::codes;
use herm_core::wire::view::ItemView;

use crate::catalogue::{Catalogue, Hidden, Listing, Tool};
use crate::refusal::Refusal;
use crate::request::Target;
use crate::store::names::part;

/// The tool of a target, from a snapshot.
pub(crate) fn tool(catalogue: &Catalogue, target: &Target) -> Option<Arc<Tool>> {
    match target {
        Target::Exposed(name) => catalogue.tool(name).cloned(),
        Target::Tool(server, raw) => {
            let listing = catalogue.server(server)?;
            listing.tools.iter().find(|tool| tool.view.name == *raw).cloned()
        }
    }
}

/// The server under whose prefix an exposed name lies: the longest prefix wins.
pub(crate) fn owner<'a>(
    servers: impl Iterator<Item = &'a Server>,
    exposed: &str,
) -> Option<ServerName> {
    servers
        .filter_map(|server| {
            let prefix = part(server).prefix();
            exposed.starts_with(&prefix).then_some((prefix.len(), &server.name))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, name)| name.clone())
}

/// The first server that lists a resource, or has a template for it.
pub(crate) fn resource(catalogue: &Catalogue, uri: &str) -> Result<ServerName, Refusal> {
    let lists = |(_, listing): &&(ServerName, Arc<Listing>)| {
        listing.resources.iter().any(|resource| resource.id == uri)
    };
    let fits = |(_, listing): &&(ServerName, Arc<Listing>)| {
        listing.templates.iter().any(|template| matches(&template.id, uri))
    };
    let servers = &catalogue.servers;
    let found = servers.iter().find(lists).or_else(|| servers.iter().find(fits));
    found.map(|(name, _)| name.clone()).ok_or_else(|| Refusal::Unknown {
        what: "resource",
        name: uri.to_owned(),
        server: None,
        hidden: None,
        nearest: None,
    })
}

/// What a server's error answer to `resources/read` or `prompts/get` means: that it has no such
/// thing, if it says so by its code, or does not list it. With the nearest that it lists.
pub(crate) fn not_offered(
    catalogue: &Catalogue,
    what: &'static str,
    name: &str,
    why: Refusal,
) -> Refusal {
    let listing = why.server().and_then(|server| catalogue.server(server));
    let items = listing.map(|l| if what == "prompt" { &l.prompts } else { &l.resources });
    let names = || items.into_iter().flatten().map(|item| item.id.as_str());
    match why {
        Refusal::Unknown { what, name, server, hidden, nearest: None } => {
            let nearest = nearest(&name, names());
            Refusal::Unknown { what, name, server, hidden, nearest }
        }
        Refusal::Peer { server, error } => {
            let made = listing.is_some_and(|listing| {
                let fits = |template: &ItemView| matches(&template.id, name);
                what == "resource" && listing.templates.iter().any(fits)
            });
            let unlisted = items.is_some() && !made && !names().any(|known| known == name);
            if error.code != codes::METHOD_NOT_FOUND && !unlisted {
                return Refusal::Peer { server, error };
            }
            let nearest = nearest(name, names()).map(|near| match what {
                "prompt" => format!("{server}.{near}"),
                _ => near,
            });
            let (name, error) = (name.to_owned(), Box::new(error));
            Refusal::NotOffered { server, what, name, error, nearest }
        }
        other => other, // it was not answered
    }
}

/// True if a URI may come from a template (RFC 6570): the literal parts are there, in order.
fn matches(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut parts = template.split('{');
    let Some(head) = parts.next() else { return false };
    let Some(after) = rest.strip_prefix(head) else { return false };
    rest = after;
    for part in parts {
        let Some((_, literal)) = part.split_once('}') else { return false };
        if literal.is_empty() {
            continue;
        }
        let Some(at) = rest.find(literal) else { return false };
        rest = &rest[at + literal.len()..];
    }
    template.ends_with('}') || rest.is_empty()
}

/// No server of that name.
pub(crate) fn unknown_server(known: &[ServerName], name: &ServerName) -> Refusal {
    let nearest = nearest(name.as_str(), known.iter().map(ServerName::as_str));
    Refusal::UnknownServer { name: name.to_string(), nearest }
}

/// No tool of that name: hidden, or near to another.
pub(crate) fn unknown_tool(
    catalogue: &Catalogue,
    target: &Target,
    owner: Option<&ServerName>,
) -> Refusal {
    let (wanted, raw) = match target {
        Target::Exposed(name) => (name.clone(), None),
        Target::Tool(server, raw) => (format!("{server}.{raw}"), Some(raw)),
    };
    let listing = owner.and_then(|owner| Some((owner, catalogue.server(owner)?)));
    let hidden = listing.and_then(|(_, listing)| {
        let is = |hidden: &&Hidden| match raw {
            Some(raw) => hidden.tool == *raw,
            None => hidden.name.as_deref() == Some(&*wanted),
        };
        let hidden = listing.hidden.iter().find(is).map(|hidden| hidden.reason.clone());
        hidden.or_else(|| withheld(listing, &wanted, raw.map(String::as_str)))
    });
    let nearest = match raw {
        Some(raw) => listing.and_then(|(owner, listing)| {
            let names = listing.tools.iter().map(|tool| tool.view.name.as_str());
            nearest(raw, names).map(|name| format!("{owner}.{name}"))
        }),
        None => nearest(&wanted, catalogue.tools().map(|tool| tool.name.as_str())),
    };
    Refusal::Unknown { what: "tool", name: wanted, server: owner.cloned(), hidden, nearest }
}

/// Why the utility of this name is not offered, if the name is one's.
fn withheld(listing: &Listing, exposed: &str, raw: Option<&str>) -> Option<String> {
    let is = |utility: Utility| match raw {
        Some(raw) => raw == utility.as_str(),
        None => exposed.strip_suffix(utility.as_str()).is_some_and(|prefix| prefix.ends_with("__")),
    };
    let found = listing.withheld.iter().find(|(utility, _)| is(*utility));
    found.map(|(_, why)| why.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use herm_core::name::ServerName;
    use herm_core::wire::{PeerError, view};
    use serde_json::value::RawValue;

    use super::{matches, not_offered};
    use crate::catalogue::{Catalogue, Listing};
    use crate::refusal::{Kind, Refusal};

    #[test]
    fn templates_match_what_they_can_make() {
        for (template, uri, expected) in [
            ("test://template/{id}/data", "test://template/7/data", true),
            ("test://template/{id}/data", "test://template/7/other", false),
            ("file:///{+path}", "file:///a/b", true),
            ("test://static", "test://static", true),
            ("test://static", "test://static/more", false),
            ("a://{x}-{y}", "a://1-2", true),
        ] {
            assert_eq!(matches(template, uri), expected, "{template} {uri}");
        }
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    /// One server with a prompt, a resource and a template.
    fn catalogue() -> Catalogue {
        let item = |json: &str, key: &str| view::item(&raw(json), key).unwrap();
        let listing = Listing {
            prompts: vec![item(r#"{"name":"hello"}"#, "name")],
            resources: vec![item(r#"{"uri":"memo://one","name":"one"}"#, "uri")],
            templates: vec![item(r#"{"uriTemplate":"file:///{path}","name":"f"}"#, "uriTemplate")],
            ..Listing::default()
        };
        let name: ServerName = "py".parse().unwrap();
        Catalogue { servers: vec![(name, Arc::new(listing))], ..Catalogue::default() }
    }

    #[test]
    fn an_error_answer_to_what_is_not_listed_means_that_it_is_not_there() {
        let asked = |what, name, code: i64| {
            let error = PeerError { code, message: "no such".to_owned(), raw: raw("{}") };
            let peer = Refusal::Peer { server: "py".parse().unwrap(), error };
            let end = not_offered(&catalogue(), what, name, peer);
            (end.kind(), end.to_string(), end.hint().unwrap_or_default())
        };
        let (kind, text, hint) = asked("prompt", "helo", 0);
        assert_eq!(kind, Kind::NotFound);
        assert_eq!(text, "MCP server 'py' has no prompt `helo`: no such (0)");
        assert_eq!(hint, "did you mean `py.hello`? `herm prompts py` shows all");
        let (kind, _, hint) = asked("resource", "nope://x", 0);
        assert_eq!((kind, &*hint), (Kind::NotFound, "`herm resources py` shows what there is"));
        let (kind, _, hint) = asked("resource", "memo://one", -32601);
        assert_eq!(kind, Kind::NotFound);
        assert!(hint.contains("`py` offers no resources"), "{hint}");
        let unknown = Refusal::Unknown {
            what: "resource",
            name: "memo://ome".to_owned(),
            server: Some("py".parse().unwrap()),
            hidden: None,
            nearest: None,
        };
        let hint = not_offered(&catalogue(), "resource", "memo://ome", unknown).hint();
        assert!(hint.unwrap().contains("`memo://one`"));
        // There, and at fault; or one that a template may make.
        assert_eq!(asked("prompt", "hello", -32602).0, Kind::Protocol);
        assert_eq!(asked("resource", "memo://one", -32603).0, Kind::Protocol);
        assert_eq!(asked("resource", "file:///a", -32603).0, Kind::Protocol);
    }
}
