//! The one way a request goes to a server: look up, decide, be ready, send, clean, answer.
//!
//! Every front end's call, read and prompt comes through here; the steps are those of
//! `ARCHITECTURE.md`. Two messages and one snapshot read a call; no lock.

mod blame;
mod exchange;
mod utility;
mod way;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herm_core::catalog;
use herm_core::config::Server;
use herm_core::gate::{admit, meta};
use herm_core::wire::headers;
use herm_core::wire::params::Params;
use herm_core::wire::{PeerError, Raw, codes, compact};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::blame::{Met, Sent};
use self::exchange::{Clock, run};
use self::way::Way;
pub(crate) use self::way::{anew, ready, ready_for_call};
use crate::catalogue::{Served, Tool};
use crate::context::Context;
use crate::publish;
use crate::refusal::{Phase, Refusal};
use crate::request::{Caller, Done, Outcome, Progress, Request};
use crate::rounds::Exchange;
use crate::session::call::Failure;
use crate::session::open::modern_headers;
use crate::session::{Session, list};
use crate::supervise::{Instance, unavailable};

/// A call as it came.
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Request,
    /// Whose it is.
    pub(crate) caller: &'a Arc<Caller>,
    /// When it came: a limit of its caller's own runs from then.
    pub(crate) came: Instant,
}

/// A tool call, steps 3 to 10; step 2 (the look-up) gave `tool`.
pub(crate) async fn call(
    context: &Arc<Context>,
    instance: &Instance,
    mut tool: Arc<Tool>,
    Asked { request, caller, came }: Asked<'_>,
) -> Result<Outcome, Refusal> {
    let server = instance.server();
    // Spent by this walk, and by nothing else.
    let _permit = admit(&server, &tool)?;
    let arguments = object(request.arguments.as_deref())?;
    let schema = tool.view.input_schema.as_deref();
    let without = schema.and_then(|schema| catalog::without_forbidden_nulls(&arguments, schema));
    let arguments = without.unwrap_or(arguments);
    let own = request.deadline.map(|deadline| (came, deadline));
    if let Served::Utility(utility) = tool.served {
        let terms = Terms {
            caller,
            own,
            meta: request.meta.as_deref(),
            progress: request.progress.clone(),
        };
        let result = utility::call(context, instance, utility, &arguments, terms).await?;
        return Ok(done(&tool, result));
    }
    let mut clock = Clock::new(&server, own);
    let mut repaired = false;
    let mut way = Way::new(instance, &server, context.clock)?;
    loop {
        let (session, generation) = way.session(&mut clock).await?;
        if tool.kept {
            tool = current(context, &server, &tool)?;
        }
        let sent = Sent { generation, at: context.clock.now() };
        let exchange = Exchange {
            method: "tools/call",
            members: Params::new().text("name", &tool.view.name).raw("arguments", &arguments),
            headers: call_headers(&session, &tool, &arguments)?,
            meta: request.meta.as_deref(),
            progress: request.progress.clone(),
        };
        match run(&session, &server, &mut clock, caller, exchange).await {
            Err(Met::Failure(Failure::Peer(error)))
                if error.code == codes::HEADER_MISMATCH && !repaired && session.is_modern() =>
            {
                repaired = true;
                tool = refreshed(context, instance, &session, &tool).await?;
            }
            Err(Met::Failure(failure)) if way.replays(&failure, generation) => {}
            Err(Met::Failure(failure))
                if way.repeats(&failure, sent, catalog::may_repeat(server.trust, &tool.view)) => {}
            Err(met) => return Err(met.refusal(instance, &way, sent)),
            Ok(result) => {
                way.answered();
                return Ok(done(&tool, usable(&server, result)?));
            }
        }
    }
}

fn done(tool: &Tool, result: Raw) -> Outcome {
    Outcome::Done(Done {
        server: tool.server.clone(),
        tool: tool.view.name.clone(),
        name: tool.name.clone(),
        result,
    })
}

/// A read or a prompt: the same walk, without a tool to decide on.
pub(crate) async fn fetch(
    context: &Context,
    instance: &Instance,
    caller: &Arc<Caller>,
    wanted: Fetch<'_>,
) -> Result<Raw, Refusal> {
    let terms = Terms { caller, own: None, meta: None, progress: None };
    fetched(context, instance, terms, wanted).await
}

/// For whom something is fetched, and how.
struct Terms<'a> {
    caller: &'a Arc<Caller>,
    /// A limit of the caller's own, and since when.
    own: Option<(Instant, Duration)>,
    /// The caller's `_meta`.
    meta: Option<&'a RawValue>,
    progress: Option<mpsc::Sender<Progress>>,
}

/// What is fetched.
#[derive(Clone, Copy)]
pub(crate) struct Fetch<'a> {
    pub(crate) method: &'static str,
    /// The key and the value of what names it.
    pub(crate) name: (&'static str, &'a str),
    /// A JSON object.
    pub(crate) arguments: Option<&'a RawValue>,
}

async fn fetched(
    context: &Context,
    instance: &Instance,
    terms: Terms<'_>,
    Fetch { method, name, arguments }: Fetch<'_>,
) -> Result<Raw, Refusal> {
    let caller = terms.caller;
    let server = instance.server();
    let mut clock = Clock::new(&server, terms.own);
    let arguments = arguments.map(|arguments| object(Some(arguments))).transpose()?;
    let mut way = Way::new(instance, &server, context.clock)?;
    loop {
        let (session, generation) = way.session(&mut clock).await?;
        let sent = Sent { generation, at: context.clock.now() };
        let mut members = Params::new().text(name.0, name.1);
        if let Some(arguments) = &arguments {
            members = members.raw("arguments", arguments);
        }
        let headers = modern_headers(session.revision, method, Some(name.1));
        let progress = terms.progress.clone();
        let exchange = Exchange { method, members, headers, meta: terms.meta, progress };
        match run(&session, &server, &mut clock, caller, exchange).await {
            Err(Met::Failure(failure)) if way.replays(&failure, generation) => {}
            Err(Met::Failure(failure)) if way.repeats(&failure, sent, false) => {}
            Err(Met::Failure(Failure::Peer(error))) if no_resource(method, &session, &error) => {
                return Err(Refusal::Unknown {
                    what: "resource",
                    name: name.1.to_owned(),
                    server: Some(server.name.clone()),
                    hidden: None,
                    nearest: None,
                });
            }
            Err(met) => return Err(met.refusal(instance, &way, sent)),
            Ok(result) => {
                way.answered();
                return usable(&server, result);
            }
        }
    }
}

/// O-1: the server says that there is no such resource.
fn no_resource(method: &str, session: &Session, error: &PeerError) -> bool {
    method == "resources/read"
        && (error.code == codes::RESOURCE_NOT_FOUND
            || session.is_modern() && error.code == codes::INVALID_PARAMS)
}

/// Step 3: the gate decides.
fn admit(server: &Server, tool: &Tool) -> Result<admit::Permit, Refusal> {
    let facts = publish::facts(server, tool);
    match admit::decide(&facts) {
        admit::Decision::Allow(permit) => Ok(permit),
        admit::Decision::Deny(denial) => Err(Refusal::Denied {
            server: tool.server.clone(),
            tool: tool.name.clone(),
            why: denial.to_string(),
        }),
    }
}

/// Arguments are always one JSON object; absent ones are an empty one.
fn object(arguments: Option<&RawValue>) -> Result<String, Refusal> {
    let Some(arguments) = arguments else { return Ok("{}".to_owned()) };
    if arguments.get().starts_with('{') {
        Ok(compact(arguments.get()).into_owned())
    } else {
        Err(Refusal::BadArguments { why: "they are no JSON object".to_owned() })
    }
}

/// Step 9: a result is one JSON object; what it holds passes as it is, but for what was between the
/// server and us.
fn usable(server: &Server, result: Raw) -> Result<Raw, Refusal> {
    if result.get().starts_with('{') {
        return Ok(meta::without_reserved(&result).unwrap_or(result));
    }
    let shown: String = result.get().chars().take(40).collect();
    let why = format!("its result is no JSON object: {shown}");
    Err(Refusal::Protocol { server: server.name.clone(), why })
}

fn call_headers(
    session: &Session,
    tool: &Tool,
    arguments: &str,
) -> Result<Vec<(String, String)>, Refusal> {
    let mut out = modern_headers(session.revision, "tools/call", Some(&tool.view.name));
    if session.is_modern() && !tool.mirrored.is_empty() {
        let bad = |why: String| Refusal::BadArguments { why };
        let arguments: &RawValue =
            serde_json::from_str(arguments).map_err(|error| bad(error.to_string()))?;
        out.extend(headers::mirrored(&tool.mirrored, arguments).map_err(bad)?);
    }
    Ok(out)
}

/// A tool that was offered before there was a session, as the session has listed it.
fn current(context: &Context, server: &Server, kept: &Tool) -> Result<Arc<Tool>, Refusal> {
    let snapshot = context.registry.snapshot();
    let listing = snapshot.server(&server.name);
    let tools = listing.map(|listing| &listing.tools[..]).unwrap_or_default();
    let now = tools.iter().find(|tool| tool.view.name == kept.view.name);
    match now.filter(|tool| tool.served == Served::Server) {
        Some(now) => {
            let _permit = admit(server, now)?;
            Ok(Arc::clone(now))
        }
        None => Err(Refusal::Withdrawn { server: server.name.clone(), tool: kept.name.clone() }),
    }
}

/// H-24: the server's tools have changed under us; list them again and take the new definition.
async fn refreshed(
    context: &Arc<Context>,
    instance: &Instance,
    session: &Session,
    tool: &Tool,
) -> Result<Arc<Tool>, Refusal> {
    let server = &instance.server();
    let lists = list::lists(session, server.limits.list)
        .await
        .map_err(|cause| unavailable(server, Phase::List, cause))?;
    publish::publish(context, server, &publish::Offer::of(session, lists, SystemTime::now())).await;
    let snapshot = context.registry.snapshot();
    // A utility of ours that has the name now is another tool.
    let same = snapshot.tool(&tool.name).filter(|now| now.served == Served::Server);
    same.cloned().ok_or_else(|| Refusal::Unknown {
        what: "tool",
        name: tool.name.clone(),
        server: Some(server.name.clone()),
        hidden: None,
        nearest: None,
    })
}
