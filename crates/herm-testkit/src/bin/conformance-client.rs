//! The client under test of the official conformance suite, on `Host` alone.
//!
//! It maps a scenario to ordinary operations and ordinary settings and never changes how `Host`
//! behaves. The server's URL is the last argument; `--unpinned` leaves the revision to negotiation,
//! stateless first. Exit code 0 only if every operation succeeded.

use std::process::ExitCode;

use herm_core::config::{Http, HttpKind, Protocol, Server, Template, Transport, Verify};
use herm_core::name::ServerName;
use herm_core::wire::Raw;
use herm_host::{Answerer, Caller, Host, Outcome, Request, Served, Setup, Target};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

type Fallible<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What one scenario wants to be done after connecting.
#[derive(Debug)]
enum Plan {
    /// Nothing more than a second listing.
    ListAgain,
    /// These calls.
    Call(Vec<(String, Option<String>)>),
    /// Every tool that is offered, with the smallest arguments its schema permits.
    CallEach,
    /// Every tool, every resource, every prompt.
    UseEach,
    /// Hand a listed schema back, verbatim.
    EchoSchema,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test program: the suite keeps what it says")]
fn say(text: &str) {
    eprintln!("conformance-client: {text}");
}

async fn run() -> Fallible {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = arguments.last().ok_or("usage: conformance-client [--unpinned] URL")?;
    let unpinned = arguments.iter().any(|argument| argument == "--unpinned");
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let name: ServerName = "conformance".parse()?;
    let mut server = Server::new(name.clone(), transport(url));
    server.protocol = protocol(unpinned)?;
    let answerer = match scenario.as_str() {
        "elicitation-sep1034-client-defaults"
        | "request-metadata"
        | "sep-2322-client-request-state" => Answerer::AcceptDefaults,
        _ => Answerer::None, // the others are asked nothing, and declare nothing
    };
    let mut setup = Setup::new(vec![server]);
    setup.answerer = answerer.clone();
    let host = Host::new(setup);
    let caller = Caller { id: "conformance".to_owned(), principal: None, answerer };
    let done = carry_out(&host, &name, &caller, &plan(&scenario)?).await;
    host.stop().await;
    done
}

fn transport(url: &str) -> Transport {
    Transport::Http(Http {
        url: Template(url.to_owned()),
        headers: Vec::new(),
        kind: HttpKind::Auto,
        verify: Verify::Platform,
        identity: None,
        proxy: None,
    })
}

fn protocol(unpinned: bool) -> Fallible<Protocol> {
    if unpinned {
        return Ok(Protocol::Stateless);
    }
    match std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
        Ok(version) => Ok(Protocol::Pinned(version.parse()?)),
        Err(_) => Ok(Protocol::Auto),
    }
}

fn plan(scenario: &str) -> Fallible<Plan> {
    let one = |tool: &str, arguments: &str| {
        Plan::Call(vec![(tool.to_owned(), Some(arguments.to_owned()))])
    };
    Ok(match scenario {
        "tools_call" => one("add_numbers", r#"{"a":2,"b":3}"#),
        "elicitation-sep1034-client-defaults" => one("test_client_elicitation_defaults", "{}"),
        "sse-retry" => one("test_reconnection", "{}"),
        "sep-2322-client-request-state" | "http-invalid-tool-headers" => Plan::CallEach,
        "http-standard-headers" => Plan::UseEach,
        "http-custom-headers" => Plan::Call(calls_of_context()?),
        "json-schema-2020-12-preservation" => Plan::EchoSchema,
        scenario if scenario.starts_with("auth/") => one("test-tool", "{}"),
        _ => Plan::ListAgain,
    })
}

/// `toolCalls` of the suite's context: name and arguments, verbatim.
fn calls_of_context() -> Fallible<Vec<(String, Option<String>)>> {
    #[derive(serde::Deserialize)]
    struct Context {
        #[serde(rename = "toolCalls")]
        calls: Vec<One>,
    }
    #[derive(serde::Deserialize)]
    struct One {
        name: String,
        arguments: Option<Box<RawValue>>,
    }
    let context: Context = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    let each = context.calls.into_iter();
    Ok(each.map(|call| (call.name, call.arguments.map(|a| a.get().to_owned()))).collect())
}

async fn carry_out(host: &Host, name: &ServerName, caller: &Caller, plan: &Plan) -> Fallible {
    for (_, connected) in host.connect(std::slice::from_ref(name)).await {
        connected?;
    }
    match plan {
        Plan::ListAgain => host.probe(name).await.failed.map_or(Ok(()), |(_, why)| Err(why.into())),
        Plan::Call(calls) => {
            for (tool, arguments) in calls {
                call(host, name, caller, tool, arguments.as_deref()).await?;
            }
            Ok(())
        }
        Plan::CallEach => call_each(host, name, caller).await,
        Plan::UseEach => use_each(host, name, caller).await,
        Plan::EchoSchema => {
            let schema = schema_of(host, "json_schema_2020_12_tool")?;
            let arguments = format!(r#"{{"schema":{}}}"#, schema.get());
            call(host, name, caller, "json_schema_echo", Some(&arguments)).await
        }
    }
}

async fn call(
    host: &Host,
    name: &ServerName,
    caller: &Caller,
    tool: &str,
    arguments: Option<&str>,
) -> Fallible {
    let mut request = Request::new(Target::Tool(name.clone(), tool.to_owned()));
    request.caller = caller.clone();
    request.arguments = arguments.map(|text| RawValue::from_string(text.to_owned())).transpose()?;
    match host.call(request).await? {
        Outcome::Done(done) => say(&format!("{tool}: {}", done.result.get())),
        _ => return Err("the call became something else".into()),
    }
    Ok(())
}

async fn call_each(host: &Host, name: &ServerName, caller: &Caller) -> Fallible {
    let tools: Vec<(String, String)> = host
        .catalogue()
        .tools()
        .filter(|tool| tool.served == Served::Server)
        .map(|tool| (tool.view.name.clone(), smallest(tool.view.input_schema.as_ref())))
        .collect();
    for (tool, arguments) in tools {
        call(host, name, caller, &tool, Some(&arguments)).await?;
    }
    Ok(())
}

async fn use_each(host: &Host, name: &ServerName, caller: &Caller) -> Fallible {
    call_each(host, name, caller).await?;
    let catalogue = host.catalogue();
    let listing = catalogue.server(name).ok_or("nothing was listed")?;
    for resource in &listing.resources {
        host.read(caller.clone(), Some(name), &resource.id).await?;
    }
    for prompt in &listing.prompts {
        host.prompt(caller.clone(), name, &prompt.id, None).await?;
    }
    Ok(())
}

fn schema_of(host: &Host, tool: &str) -> Fallible<Raw> {
    let catalogue = host.catalogue();
    let found = catalogue.tools().find(|known| known.view.name == tool);
    found.and_then(|tool| tool.view.input_schema.clone()).ok_or_else(|| "no such schema".into())
}

/// The smallest object that a flat schema permits.
fn smallest(schema: Option<&Raw>) -> String {
    let schema: Value =
        schema.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut out = Map::new();
    for key in required.iter().filter_map(Value::as_str) {
        let property = &schema["properties"][key];
        let value = match property["type"].as_str() {
            _ if property["enum"][0] != Value::Null => property["enum"][0].clone(),
            Some("integer" | "number") => 1.into(),
            Some("boolean") => true.into(),
            Some("object") => Map::new().into(),
            Some("array") => Vec::<Value>::new().into(),
            _ => "us-west1".into(),
        };
        out.insert(key.to_owned(), value);
    }
    Value::Object(out).to_string()
}
