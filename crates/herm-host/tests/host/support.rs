//! Small servers and calls, so that a test says only what is special about it.

use std::time::Duration;

use herm_core::config::{Server, Stdio, Template, Transport};
use herm_core::name::ServerName;
use herm_host::{Outcome, Refusal, Request, Target};
use serde_json::value::RawValue;

/// A server that is a child process.
pub(crate) fn stdio(name: &str, command: &[&str]) -> Server {
    let template = |text: &&str| Template((*text).to_owned());
    let stdio = Stdio {
        command: template(&command[0]),
        args: command[1..].iter().map(template).collect(),
        ..Stdio::default()
    };
    Server::new(name.parse().unwrap(), Transport::Stdio(stdio))
}

/// The same with every limit at so many seconds.
pub(crate) fn limited(mut server: Server, seconds: u64) -> Server {
    let limit = Duration::from_secs(seconds);
    server.limits.connect = limit;
    server.limits.list = limit;
    server.limits.start = 2 * limit;
    server.limits.call_idle = limit;
    server.limits.call_absolute = 3 * limit;
    server.supervision.stop_grace = Duration::from_millis(300);
    server.supervision.term_grace = Duration::from_millis(300);
    server
}

/// A call of a tool by its raw name.
pub(crate) fn call(server: &ServerName, tool: &str, arguments: &str) -> Request {
    let mut request = Request::new(Target::Tool(server.clone(), tool.to_owned()));
    request.arguments = Some(RawValue::from_string(arguments.to_owned()).unwrap());
    request
}

/// The raw result.
pub(crate) fn result(outcome: Result<Outcome, Refusal>) -> Result<String, Refusal> {
    outcome.map(|outcome| match outcome {
        Outcome::Done(done) => done.result.get().to_owned(),
        other => panic!("{other:?}"),
    })
}
