//! The host: it starts MCP servers, keeps their sessions, and gives one face to all of them.

mod answer;
mod catalogue;
mod context;
mod host;
mod lookup;
mod process;
mod publish;
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
mod walk;

pub use answer::{Answer, Answerer, Answering, Ask, NoAnswer};
pub use catalogue::{Catalogue, Hidden, Listing, Tool};
pub use host::{Host, Setup};
pub use refusal::{Cause, Deadline, Kind, Phase, Refusal};
pub use request::{Caller, Done, Outcome, Progress, Request, Target};
pub use status::{Probe, ServerStatus, Skipped, State};
pub use transport::error::LinkError;
