//! HTTP+SSE of 2024-11-05.
use super::http::Client;
use super::*;
use herm_core::config::HttpTarget;

#[derive(Debug)]
pub(crate) struct SseLink {}

impl SseLink {
    /// GETs the stream and waits for its `endpoint` event (the caller bounds the time).
    pub(crate) async fn open(
        _client: Client,
        _target: &HttpTarget,
        _limit: usize,
    ) -> Result<Self, LinkError> {
        unimplemented!()
    }
    pub(crate) fn send(&mut self, _message: Outgoing) -> Result<(), NotSent> {
        unimplemented!()
    }
    pub(crate) async fn next(&mut self) -> LinkEvent {
        unimplemented!()
    }
    pub(crate) fn opened(&mut self, _revision: Revision) {}
    pub(crate) async fn close(self, _graces: Graces) -> LinkError {
        unimplemented!()
    }
}
