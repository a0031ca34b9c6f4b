//! What a command does with a host, whether it has one of its own or asks a running one: the same
//! function makes the same document.

use herm_core::name::ServerName;
use herm_core::wire::Raw;
use herm_host::{
    Caller, Done, Freshness, Host, Kind, Outcome, Progress, Recalled, Refusal, Request, Target,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::json::{self, Called, Definition, Failure, Prompted, Read, Tools, V, millis};
use crate::object::Object;

/// A tool to be called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallAsk {
    /// The configured server that owns it.
    pub server: String,
    /// Its raw name; absent: `name` is the exposed name.
    pub tool: Option<String>,
    /// The name as it was given.
    pub name: String,
    /// Its arguments, a JSON object.
    pub arguments: Option<Raw>,
    /// A limit of the caller's own, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// A resource to be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadAsk {
    /// Where; absent: the first of `servers` that has it.
    pub server: Option<String>,
    /// The servers that are listed to find it.
    pub servers: Vec<String>,
    /// Its URI.
    pub uri: String,
}

/// A prompt to be filled in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PromptAsk {
    /// The server that has it.
    pub server: String,
    /// Its name.
    pub name: String,
    /// Texts by name, a JSON object.
    pub arguments: Option<Raw>,
}

/// Tools to be listed, from servers that are connected for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolsAsk {
    /// Of these servers.
    pub servers: Vec<String>,
    /// With whole definitions.
    pub schema: bool,
}

/// Calls a tool; words of progress go to `progress`. Dropping the future cancels the call.
///
/// # Errors
/// [`Failure`].
pub async fn call(
    host: &Host,
    caller: Caller,
    ask: CallAsk,
    progress: Option<mpsc::Sender<Progress>>,
) -> Result<Called, Failure> {
    let name = ask.name.clone();
    let of_tool = |failure: Failure| Failure { tool: Some(name.clone()), ..failure };
    let server = server(&ask.server).map_err(|failure| of_tool(*failure))?;
    let target = match ask.tool {
        Some(tool) => Target::Tool(server, tool),
        None => Target::Exposed(ask.name),
    };
    let mut request = Request::new(target);
    request.caller = caller;
    request.arguments = ask.arguments;
    request.deadline = ask.timeout_ms.map(Duration::from_millis);
    request.progress = progress;
    let started = Instant::now();
    match Box::pin(host.call(request)).await {
        Ok(Outcome::Done(done)) => Ok(called(done, millis(started.elapsed()))),
        Ok(_) => Err(of_tool(Failure::new(
            "protocol",
            "the tool ended in a way that this herm does not know",
        ))),
        Err(refusal) => Err(of_tool(refusal.into())),
    }
}

/// The definition of the tool that `ask` names, from its server, which is connected for it.
///
/// # Errors
/// [`Failure`]: the server does not answer. A tool that is not offered is none: its call says so.
pub async fn definition(host: &Host, ask: &CallAsk) -> Result<Definition, Failure> {
    let of_tool = |failure: Failure| Failure { tool: Some(ask.name.clone()), ..failure };
    let server = server(&ask.server).map_err(|failure| of_tool(*failure))?;
    let missing = connect(host, std::slice::from_ref(&server)).await;
    if let Some((_, refusal)) = missing.into_iter().next() {
        return Err(of_tool(refusal.into()));
    }
    let catalogue = host.catalogue();
    let tool = match &ask.tool {
        None => catalogue.tool(&ask.name),
        Some(raw) => catalogue
            .server(&server)
            .and_then(|listing| listing.tools.iter().find(|tool| tool.view.name == *raw)),
    };
    Ok(Definition { v: V, definition: tool.map(|tool| tool.view.raw.clone()) })
}

fn called(done: Done, ms: u64) -> Called {
    Called {
        v: V,
        ok: !is_error(&done.result),
        server: done.server.to_string(),
        tool: done.tool,
        name: done.name,
        ms,
        result: done.result,
    }
}

/// Whether the tool says that it failed.
#[must_use]
pub fn is_error(result: &serde_json::value::RawValue) -> bool {
    let json = result.get();
    json.contains("isError")
        && Object::read(json)
            .and_then(|object| object.get("isError"))
            .is_some_and(|value| value.get() == "true")
}

/// Reads a resource. Without a server all of `servers` are listed first.
///
/// # Errors
/// [`Failure`].
pub async fn read(host: &Host, caller: Caller, ask: ReadAsk) -> Result<Read, Failure> {
    // A URI may be at any server, so all are listed first; a named one is started by the read.
    let (wanted, missing) = match &ask.server {
        Some(name) => (Some(server(name)?), Vec::new()),
        None => (None, connect(host, &servers(&ask.servers)?).await),
    };
    let started = Instant::now();
    match Box::pin(host.read(caller, wanted.as_ref(), &ask.uri)).await {
        Ok((server, result)) => Ok(Read {
            v: V,
            ok: true,
            server: server.to_string(),
            uri: ask.uri,
            ms: millis(started.elapsed()),
            result,
        }),
        Err(refusal) => Err(not_read(&refusal, &ask.uri, (host, &missing))),
    }
}

/// It may be at a server that did not answer.
fn not_read(refusal: &Refusal, uri: &str, (host, missing): (&Host, &[Missing])) -> Failure {
    let names: Vec<ServerName> = missing.iter().map(|(name, _)| name.clone()).collect();
    let mut failure = Failure::from(refusal.clone());
    if refusal.kind() == Kind::NotFound && !missing.is_empty() {
        let list = names.iter().map(ServerName::as_str).collect::<Vec<_>>().join(", ");
        let message = format!("no server that answered has `{uri}`; {list} did not answer");
        failure = Failure::new("unavailable", message);
    }
    failure.missing = json::asked(&names, missing, &host.catalogue());
    failure
}

/// Fills in a prompt.
///
/// # Errors
/// [`Failure`].
pub async fn prompt(host: &Host, caller: Caller, ask: PromptAsk) -> Result<Prompted, Failure> {
    let server = server(&ask.server)?;
    let started = Instant::now();
    let result = Box::pin(host.prompt(caller, &server, &ask.name, ask.arguments)).await?;
    Ok(Prompted {
        v: V,
        ok: true,
        server: ask.server,
        name: ask.name,
        ms: millis(started.elapsed()),
        result,
    })
}

/// Connects to servers and lists what they offer. One that does not answer is no failure: its
/// entry in the document says why.
///
/// # Errors
/// [`Failure`]: a name that is none.
pub async fn tools(host: &Host, ask: &ToolsAsk) -> Result<Tools, Failure> {
    let names = servers(&ask.servers)?;
    let missing = connect(host, &names).await;
    host.kept(&names).await;
    let catalogue = host.catalogue();
    let status = host.status();
    let freshness = |name: &ServerName| {
        let server = status.iter().find(|server| server.name == *name);
        server.map_or(Freshness::Cached, |server| server.freshness)
    };
    let mut tools = json::tools(&catalogue, (&names, &missing), freshness, ask.schema);
    for asked in tools.servers.iter_mut().map(|server| &mut server.asked) {
        let of = status.iter().find(|status| status.name.as_str() == asked.name);
        asked.warnings.extend(of.and_then(|status| status.not_kept.clone()));
    }
    Ok(tools)
}

/// What is kept of servers, as the same document: nothing is started or contacted. A server whose lists
/// are not kept is not in it.
#[must_use]
pub fn kept_tools(recalled: &Recalled, schema: bool) -> Tools {
    let catalogue = &recalled.catalogue;
    let names: Vec<ServerName> = catalogue.servers.iter().map(|(name, _)| name.clone()).collect();
    let freshness = |name: &ServerName| {
        let found = recalled.freshness.iter().find(|(known, _)| known == name);
        found.map_or(Freshness::Cached, |(_, freshness)| *freshness)
    };
    json::tools(catalogue, (&names, &[]), freshness, schema)
}

type Missing = (ServerName, Refusal);

/// Connects to these servers and gives back those that did not answer.
async fn connect(host: &Host, names: &[ServerName]) -> Vec<Missing> {
    if names.is_empty() {
        return Vec::new(); // to the host, no names are all names
    }
    let answers = Box::pin(host.connect(names)).await;
    answers.into_iter().filter_map(|(name, end)| end.err().map(|refusal| (name, refusal))).collect()
}

fn server(name: &str) -> Result<ServerName, Box<Failure>> {
    name.parse().map_err(|error| {
        let why = format!("no server can be called `{name}`: {error}");
        Box::new(Failure::new("not_found", why))
    })
}

pub(crate) fn servers(names: &[String]) -> Result<Vec<ServerName>, Box<Failure>> {
    names.iter().map(|name| server(name)).collect()
}
