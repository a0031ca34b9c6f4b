//! The host: it starts MCP servers, keeps their sessions, and gives one face to all of them.

mod answer;
mod catalogue;
mod host;
mod process;
mod refusal;
mod request;
mod status;
mod transport;

pub use answer::{Answer, Answerer, Answering, Ask, NoAnswer};
pub use catalogue::{Catalogue, Hidden, Listing, Tool};
pub use host::{Host, Setup};
pub use refusal::{Cause, Deadline, Kind, Phase, Refusal};
pub use request::{Caller, Done, Outcome, Progress, Request, Target};
pub use status::{Probe, ServerStatus, Skipped, State};
pub use transport::error::LinkError;
