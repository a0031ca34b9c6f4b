//! The published catalogue: what can be called, as an immutable snapshot.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herm_core::catalog::{HiddenUtility, Hints};
use herm_core::name::{ServerName, Utility};
use herm_core::wire::headers::HeaderParam;
use herm_core::wire::view::{ItemView, ToolView};

/// One tool that is offered.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The exposed name.
    pub name: String,
    /// Its server.
    pub server: ServerName,
    /// Who answers its calls.
    pub served: Served,
    /// What we read of its definition; `view.raw` is the definition as sent.
    pub view: ToolView,
    /// Arguments that are mirrored into headers.
    pub mirrored: Vec<HeaderParam>,
    /// Its definition was read before this host reached the server, and may have changed.
    pub kept: bool,
}

/// Who answers the calls of a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Served {
    /// Its server, by `tools/call`.
    Server,
    /// We do, with what the server has of resources and prompts.
    Utility(Utility),
}

/// One tool that is not offered, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hidden {
    /// Its server.
    pub server: ServerName,
    /// Its raw name, or its place in the list if it has none.
    pub tool: String,
    /// The exposed name that it would have, if it can have one.
    pub name: Option<String>,
    /// Why.
    pub reason: String,
}

/// When a list was read, and by whom.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReadAt {
    /// By a session of this host.
    Live(SystemTime),
    /// From the lists that are kept; by whom they were read before.
    Kept(SystemTime),
}

impl Default for ReadAt {
    fn default() -> Self {
        Self::Live(SystemTime::UNIX_EPOCH)
    }
}

impl ReadAt {
    /// When.
    #[must_use]
    pub fn at(self) -> SystemTime {
        match self {
            Self::Live(at) | Self::Kept(at) => at,
        }
    }

    /// When, if anybody knows: what another program has kept may not say it.
    #[must_use]
    pub fn known(self) -> Option<SystemTime> {
        Some(self.at()).filter(|at| *at > SystemTime::UNIX_EPOCH)
    }

    /// How long ago; nothing if the clock was set back.
    #[must_use]
    pub fn age(self) -> Duration {
        self.at().elapsed().unwrap_or_default()
    }

    /// True if no session of this host has read it.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

/// What one server offers, as of its last whole list.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Offered tools: the server's, in its order, then our utilities over its resources and prompts.
    pub tools: Vec<Arc<Tool>>,
    /// The server's other tools.
    pub hidden: Vec<Hidden>,
    /// Utilities that are not offered, and why. Lists do not show them: nobody has asked for them.
    pub withheld: Vec<(Utility, HiddenUtility)>,
    /// Resources.
    pub resources: Vec<ItemView>,
    /// Resource templates.
    pub templates: Vec<ItemView>,
    /// Prompts.
    pub prompts: Vec<ItemView>,
    /// What is odd about it: filters that match nothing, lists cut by a cap.
    pub warnings: Vec<String>,
    /// `instructions`: untrusted text.
    pub instructions: Option<String>,
    /// How many tools the server has, hidden ones too.
    pub known: usize,
    /// When it was read.
    pub read: ReadAt,
    /// What the server says of its life.
    pub hints: Hints,
    /// The stateless revision was spoken.
    pub is_modern: bool,
}

impl Listing {
    /// Offered tools of the server's own.
    pub fn own(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().filter(|tool| tool.served == Served::Server)
    }
}

/// Everything that is offered now: a snapshot that never changes.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Each server that was listed, in the order of the configuration.
    pub servers: Vec<(ServerName, Arc<Listing>)>,
    pub(crate) by_name: HashSet<ByName>,
}

/// A tool that is found by its exposed name.
#[derive(Debug)]
pub(crate) struct ByName(pub(crate) Arc<Tool>);

impl Borrow<str> for ByName {
    fn borrow(&self) -> &str {
        &self.0.name
    }
}

impl Hash for ByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for ByName {}

impl Catalogue {
    /// The tool of an exposed name.
    #[must_use]
    pub fn tool(&self, exposed: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(exposed).map(|tool| &tool.0)
    }

    /// What one server offers.
    #[must_use]
    pub fn server(&self, name: &ServerName) -> Option<&Arc<Listing>> {
        self.servers.iter().find(|(known, _)| known == name).map(|(_, listing)| listing)
    }

    /// All offered tools, in the order of servers and of their lists.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.servers.iter().flat_map(|(_, listing)| &listing.tools)
    }
}
