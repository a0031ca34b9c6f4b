//! Which connection an entry describes, in sixteen characters.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::digest::Update;
use sha2::{Digest, Sha256};

use crate::secret::Secret;

use super::server::{HttpKind, Protocol, Server, Target, Template, Transport};

/// 16 hex digits of SHA-256 over what defines the connection *as written*: transport, command,
/// arguments, working directory, names of variables and headers (in any order), URL, protocol,
/// authorization. Values of variables and headers are not in it, so it may be stored and shown.
#[must_use]
pub fn fingerprint(server: &Server) -> String {
    let mut digest = Fields(Sha256::new());
    match &server.transport {
        Transport::Stdio(stdio) => {
            digest.field("stdio");
            digest.field(&stdio.command.0);
            digest.list(&stdio.args.iter().map(|arg| arg.0.clone()).collect::<Vec<_>>());
            digest.list(stdio.cwd.as_ref().map(|cwd| cwd.0.clone()).as_slice());
            digest.names(&stdio.env, str::to_owned);
        }
        Transport::Http(http) => {
            digest.field(match http.kind {
                HttpKind::Auto => "auto",
                HttpKind::Streamable => "http",
                HttpKind::Sse => "sse",
            });
            digest.field(&http.url.0);
            digest.names(&http.headers, str::to_ascii_lowercase);
        }
    }
    digest.field(word(&server.protocol));
    digest.list(server.auth.as_slice());
    let mut text = HEXLOWER.encode(&digest.0.finalize());
    text.truncate(16);
    text
}

/// Eight hex digits that tell one set of credentials from another: SHA-256 over `salt`, the values of
/// variables and headers, and a command, its arguments and a URL as they came out, cut to 32 bits so
/// that it says nothing of them. E-1 and R-6:
/// what a server is, and offers, may depend on who asks.
#[must_use]
pub fn authorization(target: &Target, salt: &str) -> String {
    let mut digest = Fields(Sha256::new());
    digest.field(salt);
    digest.values(target);
    let mut text = HEXLOWER.encode(&digest.0.finalize());
    text.truncate(8);
    text
}

/// The random key of [`context_mac`], from the state folder.
#[derive(Clone)]
pub struct MacKey(Secret);

impl MacKey {
    /// Of 64 hex digits, as the file of the key has them.
    #[must_use]
    pub fn of(hex: &str) -> Option<Self> {
        let bytes = HEXLOWER.decode(hex.as_bytes()).ok()?;
        (bytes.len() == 32).then(|| Self(Secret::new(hex.to_owned())))
    }
}

impl std::fmt::Debug for MacKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MacKey")
    }
}

/// Whose list it is: 32 hex digits of HMAC-SHA256 over everything that tells one authorization context
/// from another, with the values as they came out. `inherited` are the values of the variables that the
/// child gets by name (`pass_env`). C-3: what one context was listed is never shown to another. The
/// key makes it say nothing of the values to whoever sees the file alone.
#[must_use]
pub fn context_mac(
    target: &Target,
    inherited: &[(String, Option<String>)],
    key: &MacKey,
) -> String {
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(key.0.expose().as_bytes()) else {
        return String::new(); // a key of any length will do
    };
    let mut digest = Fields(mac);
    digest.values(target);
    for (name, value) in inherited {
        digest.field(name);
        digest.list(value.as_slice());
    }
    let mut text = HEXLOWER.encode(&digest.0.finalize().into_bytes());
    text.truncate(32);
    text
}

fn word(protocol: &Protocol) -> &'static str {
    match protocol {
        Protocol::Auto => "auto",
        Protocol::Stateless => "stateless",
        Protocol::Legacy => "legacy",
        Protocol::Pinned(revision) => revision.as_str(),
    }
}

/// Fields with their lengths, so that no two sets of fields give one text.
struct Fields<D>(D);

impl<D: Update> Fields<D> {
    fn field(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
    }

    fn list(&mut self, items: &[String]) {
        self.0.update(&(items.len() as u64).to_be_bytes());
        items.iter().for_each(|item| self.field(item));
    }

    /// What a connection carries, with every variable replaced.
    fn values(&mut self, target: &Target) {
        let values = match target {
            Target::Stdio(stdio) => {
                self.field(&stdio.command);
                self.list(&stdio.args);
                self.list(stdio.cwd.as_slice());
                &stdio.env
            }
            Target::Http(http) => {
                self.field(http.url.expose());
                &http.headers
            }
        };
        let mut values: Vec<_> = values.iter().collect();
        values.sort();
        for (name, value) in values {
            self.field(name);
            self.field(value.expose());
        }
    }

    fn names(&mut self, pairs: &[(String, Template)], form: impl Fn(&str) -> String) {
        let mut names: Vec<String> = pairs.iter().map(|(name, _)| form(name)).collect();
        names.sort();
        self.list(&names);
    }
}

#[cfg(test)]
mod tests {
    use super::{MacKey, authorization, context_mac, fingerprint};
    use crate::config::{Places, check};

    fn of(entry: &str) -> String {
        let text = format!("mcp_servers: {{s: {{{entry}}}}}");
        let checked = check(text.as_bytes(), "config.yaml");
        fingerprint(checked.config.ready().next().expect(entry))
    }

    #[test]
    fn other_credentials_are_another_context() {
        let text = "mcp_servers: {s: {url: 'http://x', headers: {A: '${TOKEN}'}}}";
        let checked = check(text.as_bytes(), "config.yaml");
        let server = checked.config.ready().next().expect("it is right");
        let of = |token: &str, salt: &str| {
            let token = |_: &str| Some(token.to_owned());
            authorization(&server.resolve(&token, &Places::default()).expect("set"), salt)
        };
        assert_eq!(of("one", "s"), of("one", "s"));
        assert_ne!(of("one", "s"), of("two", "s"));
        assert_ne!(of("one", "s"), of("one", "t"), "it cannot be looked up in a table");
        assert_eq!(of("one", "s").len(), 8);
    }

    #[test]
    fn a_context_is_told_by_every_value_that_a_server_may_know_it_by() {
        let text =
            "mcp_servers: {s: {command: x, args: ['${A}'], env: {B: '${B}'}, pass_env: [C]}}";
        let checked = check(text.as_bytes(), "config.yaml");
        let server = checked.config.ready().next().expect("it is right");
        let of = |a: &str, b: &str, c: Option<&str>, key: &str| {
            let value = |name: &str| Some(if name == "A" { a } else { b }.to_owned());
            let target = server.resolve(&value, &Places::default()).expect("set");
            let inherited = [("C".to_owned(), c.map(str::to_owned))];
            context_mac(&target, &inherited, &MacKey::of(&key.repeat(64)).expect("a key"))
        };
        let base = of("a", "b", Some("c"), "1");
        assert_eq!(base.len(), 32);
        assert_eq!(of("a", "b", Some("c"), "1"), base);
        for other in [
            of("z", "b", Some("c"), "1"),
            of("a", "z", Some("c"), "1"),
            of("a", "b", Some("z"), "1"),
            of("a", "b", None, "1"),
            of("a", "b", Some("c"), "2"),
        ] {
            assert_ne!(other, base);
        }
        assert!(MacKey::of("12").is_none() && MacKey::of(&"x".repeat(64)).is_none());
    }

    #[test]
    fn it_changes_with_the_connection_and_with_nothing_else() {
        let base = of("command: x, args: [a, b], env: {A: 1, B: 2}");
        assert_eq!(base.len(), 16);
        for same in [
            "command: x, args: [a, b], env: {B: 9, A: 8}",
            "command: x, args: [a, b], env: {A: 1, B: 2}, timeout: 3, enabled: false, tools: [q]",
        ] {
            assert_eq!(of(same), base, "{same}");
        }
        for other in [
            "command: x, args: [ab], env: {A: 1, B: 2}",
            "command: x, args: [a, b, A], env: {B: 2}",
            "command: x, args: [a, b], env: {A: 1, B: 2}, protocol: legacy",
            "command: x, args: [a, b], env: {A: 1, B: 2}, cwd: /",
            "url: 'http://x'",
        ] {
            assert_ne!(of(other), base, "{other}");
        }
        assert_ne!(of("url: 'http://x'"), of("url: 'http://x', headers: {A: b}"));
        assert_eq!(of("url: 'http://x', headers: {a: c}"), of("url: 'http://x', headers: {A: b}"));
        assert_ne!(of("url: 'http://x'"), of("url: 'http://x', auth: oauth"));
    }
}
