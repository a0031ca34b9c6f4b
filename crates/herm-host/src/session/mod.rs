//! One attempt at a server: its peer task, how it is opened, what it lists.

pub(crate) mod call;
pub(crate) mod inbound;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod open;
pub(crate) mod peer;
pub(crate) mod pending;

use herm_core::config::Revision;
use herm_core::era::Wire;
use herm_core::wire::view::Opened;

use tokio::task::JoinSet;

use crate::store::catalogs::Identity;
use crate::transport::LinkError;
pub(crate) use peer::PeerHandle;

/// Waits until every peer is through: its link closed, its process reaped. Gives back
/// [`LinkError::Unkillable`] if one has left something that still runs. Each peer is bounded by its
/// link's close.
pub(crate) async fn drained(peers: &mut JoinSet<LinkError>) -> Option<LinkError> {
    ended(peers).await.0
}

/// The same, and the last lines of standard error of the child that ended.
pub(crate) async fn ended(peers: &mut JoinSet<LinkError>) -> (Option<LinkError>, String) {
    let (mut left, mut words) = (None, String::new());
    while let Some(ended) = peers.join_next().await {
        match ended {
            Ok(error @ LinkError::Unkillable { .. }) => {
                left.get_or_insert(error);
            }
            Ok(LinkError::Exited { stderr, .. } | LinkError::OutputClosed { stderr }) => {
                words = stderr;
            }
            _ => {}
        }
    }
    (left, words)
}

/// An open session: who speaks, and what was agreed.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The way to it.
    pub(crate) peer: PeerHandle,
    /// The revision in use.
    pub(crate) revision: Revision,
    /// The wire it is spoken on.
    pub(crate) wire: Wire,
    /// What the opening said.
    pub(crate) opened: Opened,
    /// Process id of the child.
    pub(crate) pid: Option<u32>,
    /// Whose its lists are, where lists are kept.
    pub(crate) kept_as: Option<Identity>,
}

impl Session {
    /// True on the stateless revision.
    pub(crate) fn is_modern(&self) -> bool {
        self.revision == Revision::V2026_07_28
    }
}
