//! Lines over the standard streams of a child.
use super::*;
use crate::process::SpawnPlan;

#[derive(Debug)]
pub(crate) struct StdioLink {}

impl StdioLink {
    /// Starts the child; `limit` bounds one line.
    pub(crate) async fn start(_plan: SpawnPlan, _limit: usize) -> Result<Self, LinkError> {
        unimplemented!()
    }
    pub(crate) fn send(&mut self, _message: Outgoing) -> Result<(), NotSent> {
        unimplemented!()
    }
    pub(crate) async fn next(&mut self) -> LinkEvent {
        unimplemented!()
    }
    pub(crate) async fn close(self, _graces: Graces) -> LinkError {
        unimplemented!()
    }
    /// Process id of the child, for status.
    pub(crate) fn pid(&self) -> Option<u32> {
        unimplemented!()
    }
}
