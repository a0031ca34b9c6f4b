//! Exposed names: `mcp__<server>__<tool>`.

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};

use super::ServerName;

/// Characters of an exposed name.
pub(super) const LONGEST: usize = 64;
/// Characters of a hash in a name.
const HASH: usize = 8;
/// Characters before `_` and a hash.
const CUT: usize = LONGEST - HASH - 1;

/// How the names of a server's tools begin: `mcp__<part>__`.
///
/// A part has neither `__` in it nor `_` at its end, so that no two servers can share a name.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct ServerPart {
    text: String,
    hashed: bool,
}

impl ServerPart {
    /// The part of a server, from `expose_as` if there is one.
    #[must_use]
    pub fn of(server: &ServerName, expose_as: Option<&str>) -> Self {
        let written = expose_as.unwrap_or(server.as_str());
        let text = clean(written);
        if !text.contains("__") && !text.ends_with('_') {
            return Self { text, hashed: false };
        }
        let mut words: Vec<&str> = text.split('_').filter(|word| !word.is_empty()).collect();
        let hash = hash(written, "");
        words.push(&hash);
        Self { text: words.join("_"), hashed: true }
    }

    /// The part itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the name could not be taken as it is, and so got a hash.
    #[must_use]
    pub fn is_hashed(&self) -> bool {
        self.hashed
    }

    /// `mcp__<part>__`.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("mcp__{}__", self.text)
    }
}

/// Tools of ours that stand for the resources and prompts of a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
#[non_exhaustive]
pub enum Utility {
    /// `list_resources`
    ListResources,
    /// `read_resource`
    ReadResource,
    /// `list_prompts`
    ListPrompts,
    /// `get_prompt`
    GetPrompt,
}

impl Utility {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ListResources, Self::ReadResource, Self::ListPrompts, Self::GetPrompt];

    /// Its name without the prefix.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ListResources => "list_resources",
            Self::ReadResource => "read_resource",
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt => "get_prompt",
        }
    }

    /// Its exposed name. A native tool of the server whose exposed name is the same (ignoring
    /// case) shadows it.
    #[must_use]
    pub fn exposed(self, server: &ServerName, part: &ServerPart) -> String {
        let name = whole(part, self.as_str());
        if name.len() > LONGEST { hashed(server, part, self.as_str(), "") } else { name }
    }
}

/// The tool's part of a name in exposed form, if it is one of this server (ignoring case).
#[must_use]
pub fn unexposed<'a>(name: &'a str, part: &ServerPart) -> Option<&'a str> {
    let prefix = part.prefix();
    let head = name.get(..prefix.len())?;
    head.eq_ignore_ascii_case(&prefix).then(|| name.get(prefix.len()..)).flatten()
}

/// Every character that is no ASCII letter, digit or underscore becomes `_`.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(safe).collect()
}

fn safe(c: char) -> char {
    if c.is_ascii_alphanumeric() { c } else { '_' }
}

/// Prefix and cleaned name, however long.
pub(super) fn whole(part: &ServerPart, raw: &str) -> String {
    let mut name = part.prefix();
    name.extend(raw.chars().map(safe));
    name
}

/// Whether a name could be one of this server's: a stored table may have been edited by hand.
pub(super) fn is_of(name: &str, part: &ServerPart) -> bool {
    let prefix = part.prefix();
    let head = prefix.get(..prefix.len().min(CUT)).unwrap_or_default().trim_end_matches('_');
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.len() <= LONGEST && name.starts_with(head) && name.chars().all(safe)
}

/// The name with a hash at its end, within the limit. `salt` is empty but for the case that even
/// that name is taken.
pub(super) fn hashed(server: &ServerName, part: &ServerPart, raw: &str, salt: &str) -> String {
    let mut name = whole(part, raw);
    name.truncate(CUT);
    if part.prefix().len() > CUT {
        // Cut within the server's part: a `_` left there and ours would look like its end.
        name.truncate(name.trim_end_matches('_').len());
    }
    format!("{name}_{}", hash(server.as_str(), &format!("{raw}{salt}")))
}

/// The first characters of SHA-256(server, 0, raw) in base32, lower case.
fn hash(server: &str, raw: &str) -> String {
    let digest = Sha256::new().chain_update(server).chain_update([0]).chain_update(raw).finalize();
    let mut text = BASE32_NOPAD.encode(&digest).to_ascii_lowercase();
    text.truncate(HASH);
    text
}
