//! The host: it starts MCP servers, keeps their sessions, and gives one face to all of them.
//!
//! ```no_run
//! use herm_core::config::{Server, Stdio, Template, Transport};
//! use herm_host::{Host, Outcome, Request, Setup, Target};
//!
//! # fn server(name: &str, command: &str, args: &[&str]) -> Result<Server, herm_core::name::NameError> {
//! let stdio = Stdio {
//!     command: Template(command.to_owned()),
//!     args: args.iter().map(|arg| Template((*arg).to_owned())).collect(),
//!     ..Stdio::default()
//! };
//! let server = Server::new(name.parse()?, Transport::Stdio(stdio));
//! # Ok(server) }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let files = server("files", "npx", &["-y", "@modelcontextprotocol/server-filesystem", "."])?;
//! let everything = server("everything", "npx", &["-y", "@modelcontextprotocol/server-everything"])?;
//! let host = Host::new(Setup::new(vec![files, everything]));
//!
//! // Both start side by side; one that fails costs the other nothing.
//! for (name, connected) in host.connect(&[]).await {
//!     if let Err(refusal) = connected {
//!         eprintln!("{name}: {refusal} ({})", refusal.hint().unwrap_or_default());
//!     }
//! }
//! for tool in host.catalogue().tools() {
//!     println!("{}: {}", tool.name, tool.view.description.as_deref().unwrap_or_default());
//! }
//!
//! let mut request = Request::new(Target::Exposed("mcp__everything__echo".to_owned()));
//! request.arguments = Some(serde_json::value::to_raw_value(&serde_json::json!({"message": "hi"}))?);
//! match host.call(request).await? {
//!     Outcome::Done(done) => println!("{}", done.result.get()),
//!     other => println!("{other:?}"),
//! }
//! host.stop().await; // no process is left
//! # Ok(()) }
//! ```

mod answer;
mod cache;
mod catalogue;
mod clock;
mod context;
mod event;
pub mod helper;
mod host;
mod journal;
mod keep;
mod lookup;
mod process;
mod publish;
mod queue;
mod redact;
mod refusal;
mod registry;
mod request;
mod rounds;
mod session;
mod status;
mod store;
mod supervise;
mod transport;
mod unkept;
mod walk;

pub use answer::{Answer, Answerer, Answering, Ask, NoAnswer};
pub use cache::{Cache, CacheEntry, Cleared, Recalled};
pub use catalogue::{Catalogue, Hidden, Listing, ReadAt, Served, Tool};
pub use event::Event;
pub use helper::Helper;
pub use herm_core::catalog::Freshness;
pub use host::{Host, Setup};
pub use journal::LogFormat;
pub use process::Remains;
pub use refusal::{Cause, Deadline, Kind, Phase, Refusal};
pub use request::{Caller, Done, Outcome, Progress, Request, Target};
pub use status::{
    BreakerState, Counters, Probe, Reason, Reloaded, Remembered, ServerStatus, Skipped, State,
};
pub use transport::error::LinkError;
