//! Variables in text values: replaced at each connect, never passed on as they stand.

use super::issue::Issue;
use super::server::{
    Http, HttpTarget, Server, Stdio, StdioTarget, Target, Template, Transport, Verify,
};
use crate::secret::Secret;

#[cfg(test)]
mod tests;

/// Folders that variables name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Places {
    /// `${userHome}`, and what `~` stands for.
    pub home: Option<String>,
    /// `${workspaceFolder}`.
    pub workspace: Option<String>,
}

/// Looks a variable up; a set but empty one is `Some("")`.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Server {
    /// Where the server is, with every variable replaced.
    ///
    /// # Errors
    ///
    /// One issue for each variable that is unset and has no default, for each that does not end,
    /// and for a `url` that is no address once its variables are replaced.
    pub fn resolve(&self, lookup: Lookup<'_>, places: &Places) -> Result<Target, Vec<Issue>> {
        let mut resolver = Resolver { server: self, lookup, places, issues: Vec::new() };
        let target = match &self.transport {
            Transport::Stdio(stdio) => Target::Stdio(resolver.stdio(stdio)),
            Transport::Http(http) => Target::Http(resolver.http(http)),
        };
        if resolver.issues.is_empty() { Ok(target) } else { Err(resolver.issues) }
    }
}

struct Resolver<'a> {
    server: &'a Server,
    lookup: Lookup<'a>,
    places: &'a Places,
    issues: Vec<Issue>,
}

impl Resolver<'_> {
    fn stdio(&mut self, stdio: &Stdio) -> StdioTarget {
        let args = stdio.args.iter().enumerate();
        StdioTarget {
            command: self.path("command", &stdio.command),
            args: args.map(|(index, arg)| self.text(&format!("args[{index}]"), arg)).collect(),
            env: self.pairs("env", &stdio.env),
            cwd: stdio.cwd.as_ref().map(|cwd| self.path("cwd", cwd)),
            pass_env: stdio.pass_env.clone(),
        }
    }

    fn http(&mut self, http: &Http) -> HttpTarget {
        let identity = http.identity.as_ref().map(|identity| {
            let cert = self.path("client_cert", &identity.cert);
            (cert, identity.key.as_ref().map(|key| self.path("client_key", key)))
        });
        let ca_file = match &http.verify {
            Verify::Bundle(bundle) => Some(self.path("ssl_verify", bundle)),
            Verify::Platform | Verify::DangerousNone => None,
        };
        let headers = self.pairs("headers", &http.headers);
        for (name, value) in &headers {
            if value.expose().contains(['\r', '\n', '\0']) {
                let hint = "a header is one line: look at its variables";
                self.issue(&format!("headers.{name}"), "contains a line break", Some(hint));
            }
        }
        HttpTarget {
            url: self.address("url", &http.url),
            headers,
            kind: http.kind,
            ca_file,
            dangerous_no_verify: matches!(http.verify, Verify::DangerousNone),
            identity,
            proxy: http.proxy.as_ref().map(|proxy| self.text("proxy", proxy).into()),
        }
    }

    fn address(&mut self, field: &str, template: &Template) -> Secret {
        let before = self.issues.len();
        let text = self.text(field, template).trim().to_owned();
        if self.issues.len() == before
            && let Err(message) = web_address(&text)
        {
            self.issue(field, message, Some("look at its variables"));
        }
        text.into()
    }

    fn pairs(&mut self, block: &str, pairs: &[(String, Template)]) -> Vec<(String, Secret)> {
        let pair = |(name, template): &(String, Template)| {
            (name.clone(), self.text(&format!("{block}.{name}"), template).into())
        };
        pairs.iter().map(pair).collect()
    }

    /// A text in which a leading `~` is the home folder.
    fn path(&mut self, field: &str, template: &Template) -> String {
        let text = self.text(field, template);
        let Some(rest) = text.strip_prefix('~').filter(|r| r.is_empty() || r.starts_with('/'))
        else {
            return text;
        };
        match &self.places.home {
            Some(home) => format!("{}{rest}", home.trim_end_matches('/')),
            None => {
                self.issue(
                    field,
                    "`~` stands for the home folder, which is unknown",
                    Some("set HOME"),
                );
                text
            }
        }
    }

    fn text(&mut self, field: &str, template: &Template) -> String {
        let mut text = String::new();
        for part in parts(&template.0) {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Variable(inner) => match self.variable(inner) {
                    Ok(value) => text.push_str(&value),
                    Err((message, hint)) => self.issue(field, &message, Some(&hint)),
                },
                Part::Unclosed => {
                    self.issue(field, "`${` is not closed", Some("write `$${` for a plain `${`"));
                }
            }
        }
        text
    }

    /// The value of what stands between the braces, or message and hint.
    fn variable(&self, inner: &str) -> Result<String, (String, String)> {
        let place = |found: &Option<String>, what: &str| {
            let hint = format!("`${{{inner}}}` needs {what}");
            found.clone().ok_or((format!("`${{{inner}}}` is unknown"), hint))
        };
        match inner {
            "userHome" => return place(&self.places.home, "HOME"),
            "workspaceFolder" => return place(&self.places.workspace, "a workspace folder"),
            "workspaceFolderBasename" => {
                let folder = place(&self.places.workspace, "a workspace folder")?;
                let name = folder.trim_end_matches('/').rsplit('/').next();
                return Ok(name.unwrap_or_default().to_owned());
            }
            "pathSeparator" | "/" => return Ok(std::path::MAIN_SEPARATOR.to_string()),
            _ => {}
        }
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let name = name.trim();
        let name = name.strip_prefix("env:").unwrap_or(name).trim();
        if name.is_empty() {
            return Err(("a variable without a name".to_owned(), "write `${NAME}`".to_owned()));
        }
        let value = (self.lookup)(name).or_else(|| default.map(str::to_owned));
        value.ok_or_else(|| {
            let hint =
                format!("set it in the environment or in `.env`, or write `${{{name}:-default}}`");
            (format!("the variable `{name}` is not set"), hint)
        })
    }

    fn issue(&mut self, field: &str, message: &str, hint: Option<&str>) {
        let place = self.server.origin.fields.get(field);
        self.issues.push(Issue {
            server: Some(self.server.name.to_string()),
            file: self.server.origin.file.to_string(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            key: Some(field.to_owned()),
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        });
    }
}

impl Template {
    /// The text for a screen: variables by name without their defaults, all else hidden.
    #[must_use]
    pub fn hidden(&self) -> String {
        let mut shown = String::new();
        for part in parts(&self.0) {
            match part {
                Part::Variable(inner) => {
                    let name = inner.split_once(":-").map_or(inner, |(name, _)| name);
                    shown.extend(["${", name, "}"]);
                }
                Part::Text("") => {}
                Part::Text(_) | Part::Unclosed if shown.ends_with("[REDACTED]") => {}
                Part::Text(_) | Part::Unclosed => shown.push_str("[REDACTED]"),
            }
        }
        shown
    }
}

/// A piece of a template.
enum Part<'a> {
    Text(&'a str),
    /// What stands between `${` and `}`.
    Variable(&'a str),
    /// A `${` without its `}`; nothing follows.
    Unclosed,
}

/// Whether a variable stands in the text.
pub(super) fn has_variable(text: &str) -> bool {
    parts(text).iter().any(|part| !matches!(part, Part::Text(_)))
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        if let Some(plain) = before.strip_suffix('$') {
            parts.extend([Part::Text(plain), Part::Text("${")]);
            rest = behind;
            continue;
        }
        parts.push(Part::Text(before));
        let Some((inner, behind)) = behind.split_once('}') else {
            parts.push(Part::Unclosed);
            return parts;
        };
        parts.push(Part::Variable(inner));
        rest = behind;
    }
    parts.push(Part::Text(rest));
    parts
}

/// Whether a text is an address that can be connected to. The message never repeats the text.
pub(super) fn web_address(text: &str) -> Result<(), &'static str> {
    let url = url::Url::parse(text).map_err(|_| "is not a URL")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("should begin with `http://` or `https://`");
    }
    match url.host_str() {
        Some(host) if !host.is_empty() => Ok(()),
        _ => Err("names no host"),
    }
}
