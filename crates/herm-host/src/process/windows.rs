//! The same functions where there are no process groups: they refuse, and say so.

use std::task::{Context, Poll};

use super::{Exit, SpawnPlan, Spawned, stderr};
use crate::transport::{Graces, LinkError};

/// Refuses.
///
/// # Errors
/// [`LinkError::Spawn`], always.
pub(crate) async fn spawn(plan: &SpawnPlan) -> Result<Spawned, LinkError> {
    Err(LinkError::Spawn {
        command: plan.target.command.clone(),
        why: "servers over stdio are not supported on Windows yet; reach it over HTTP".to_owned(),
    })
}

/// Cannot exist here.
#[derive(Debug)]
pub(crate) enum Tree {}

impl Tree {
    /// Process id of the leader.
    pub(crate) fn pid(&self) -> u32 {
        match *self {}
    }

    /// Ready when the leader has ended.
    pub(crate) fn poll_exit(&mut self, _cx: &mut Context<'_>) -> Poll<Exit> {
        match *self {}
    }

    /// Ready when the leader has ended.
    pub(crate) async fn exit(&mut self) -> Exit {
        match *self {}
    }

    /// Ends the tree.
    ///
    /// # Errors
    /// [`Remains`]: what is left.
    pub(crate) async fn end(self, _graces: Graces) -> Result<Exit, Remains> {
        match self {}
    }
}

/// Cannot exist here.
#[derive(Clone, Debug)]
pub enum Remains {}

impl Remains {
    /// Process ids.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        match *self {}
    }

    /// Waits until they are gone.
    pub async fn gone(&self) {
        match *self {}
    }
}

impl stderr::Nonblocking for tokio::process::ChildStdout {
    fn read_now(&self, _buffer: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::WouldBlock.into())
    }
}
