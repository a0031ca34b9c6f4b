//! What can be called, as a document.

use herm_core::name::ServerName;
use herm_core::wire::Raw;
use herm_host::{Catalogue, Freshness, Hidden, Listing, Refusal, Tool};
use serde::{Deserialize, Serialize};

use super::{Asked, V, asked, written};

/// What can be called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tools {
    /// [`V`].
    pub v: u8,
    /// The tools, by server and in the order of its list.
    pub tools: Vec<ToolDocument>,
    /// Those that are not offered.
    pub hidden: Vec<HiddenDocument>,
    /// Every server that was asked, or whose kept list is shown.
    pub servers: Vec<Listed>,
}

/// One tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolDocument {
    /// The exposed name.
    pub name: String,
    /// Its server.
    pub server: String,
    /// The raw name.
    pub tool: String,
    /// `title`.
    pub title: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `live`, `cached`, `stale` or `parked`.
    pub freshness: String,
    /// When its list was read, RFC 3339 in UTC; absent: nobody knows.
    #[serde(default)]
    pub listed_at: Option<String>,
    /// The whole definition, where it was asked for.
    pub definition: Option<Raw>,
}

/// One tool that is not offered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HiddenDocument {
    /// Its server.
    pub server: String,
    /// The raw name.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// One server of `tools`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// Whether there is a list, and why not.
    #[serde(flatten)]
    pub asked: Asked,
    /// `live`, `cached`, `stale` or `parked`; absent: there is no list.
    #[serde(default)]
    pub freshness: Option<String>,
    /// When it was read, RFC 3339 in UTC; absent: nobody knows.
    #[serde(default)]
    pub listed_at: Option<String>,
}

/// How fresh a list is, and when it was read.
#[derive(Clone, Debug)]
pub struct Age {
    freshness: Freshness,
    listed_at: Option<String>,
}

impl Age {
    /// Of this list.
    #[must_use]
    pub fn of(listing: &Listing, freshness: Freshness) -> Self {
        Self { freshness, listed_at: listing.read.known().map(written) }
    }
}

/// A tool as a document; its definition if `schema`.
#[must_use]
pub fn tool(tool: &Tool, age: &Age, schema: bool) -> ToolDocument {
    ToolDocument {
        name: tool.name.clone(),
        server: tool.server.to_string(),
        tool: tool.view.name.clone(),
        title: tool.view.title.clone(),
        description: tool.view.description.clone(),
        freshness: age.freshness.as_str().to_owned(),
        listed_at: age.listed_at.clone(),
        definition: schema.then(|| tool.view.raw.clone()),
    }
}

/// A hidden tool as a document.
#[must_use]
pub fn hidden(hidden: &Hidden) -> HiddenDocument {
    HiddenDocument {
        server: hidden.server.to_string(),
        tool: hidden.tool.clone(),
        reason: hidden.reason.clone(),
    }
}

/// The document of `tools`: what `catalogue` has of these servers, and which gave no list. `freshness`
/// is that of a server of the catalogue.
#[must_use]
pub fn tools(
    catalogue: &Catalogue,
    (names, missing): (&[ServerName], &[(ServerName, Refusal)]),
    freshness: impl Fn(&ServerName) -> Freshness,
    schema: bool,
) -> Tools {
    let (mut tools, mut hidden, mut ages) = (Vec::new(), Vec::new(), Vec::new());
    for (name, listing) in catalogue.servers.iter().filter(|(name, _)| names.contains(name)) {
        let age = Age::of(listing, freshness(name));
        tools.extend(listing.tools.iter().map(|one| tool(one, &age, schema)));
        hidden.extend(listing.hidden.iter().map(self::hidden));
        ages.push((name, age));
    }
    let servers = asked(names, missing, catalogue).into_iter().map(|asked| {
        let age = ages.iter().find(|(name, _)| name.as_str() == asked.name);
        let age = age.map(|(_, age)| age.clone());
        let freshness = age.as_ref().map(|age| age.freshness.as_str().to_owned());
        Listed { asked, freshness, listed_at: age.and_then(|age| age.listed_at) }
    });
    Tools { v: V, tools, hidden, servers: servers.collect() }
}
