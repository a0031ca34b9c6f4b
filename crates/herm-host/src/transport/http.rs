//! Streamable HTTP, both eras.
use super::*;
use herm_core::config::HttpTarget;

/// One HTTP client for a target: TLS, proxy, redirect policy, pool.
#[derive(Clone, Debug)]
pub(crate) struct Client {}

impl Client {
    /// Builds it; reads certificate files.
    pub(crate) fn new(_target: &HttpTarget) -> Result<Self, LinkError> {
        unimplemented!()
    }
}

#[derive(Debug)]
pub(crate) struct HttpLink {}

impl HttpLink {
    /// No traffic yet; `limit` bounds a body and an event.
    pub(crate) fn new(_client: Client, _target: &HttpTarget, _limit: usize) -> Self {
        unimplemented!()
    }
    pub(crate) fn send(&mut self, _message: Outgoing) -> Result<(), NotSent> {
        unimplemented!()
    }
    pub(crate) async fn next(&mut self) -> LinkEvent {
        unimplemented!()
    }
    pub(crate) fn abandon(&mut self, _id: u64) {}
    pub(crate) fn opened(&mut self, _revision: Revision) {}
    pub(crate) async fn close(self, _graces: Graces) -> LinkError {
        unimplemented!()
    }
}
