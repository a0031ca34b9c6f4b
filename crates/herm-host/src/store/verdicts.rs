//! What each server turned out to be: era and wire, by fingerprint and authorization context, with a
//! date.
//!
//! A stale "modern" fails loudly, a stale "legacy" succeeds for ever: legacy verdicts expire after a
//! day (E-1). A verdict that proves wrong is replaced by the next opening.

use std::collections::BTreeMap;
use std::path::Path;

use herm_core::config::{Server, Target, authorization, fingerprint};
use herm_core::era::{Verdict, Wire};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::atomic::Atomic;

/// Entries kept; the oldest go first.
const MAX: usize = 1_000;

/// The file, or nothing for a host that keeps nothing.
#[derive(Debug)]
pub(crate) struct Verdicts {
    file: Option<Atomic>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Content {
    v: u32,
    /// Random, so that the contexts in the keys say nothing of the credentials.
    #[serde(default)]
    salt: String,
    verdicts: BTreeMap<String, Kept>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    protocol: String,
    wire: String,
    at: Timestamp,
}

impl Content {
    fn key(&self, server: &Server, target: &Target) -> String {
        format!("{}-{}", fingerprint(server), authorization(target, &self.salt))
    }
}

impl Verdicts {
    pub(crate) fn load(state: Option<&Path>) -> Self {
        Self { file: state.map(|state| Atomic::new(state, "verdicts.json")) }
    }

    /// What a server was last time, unless that is too long ago.
    pub(crate) fn recall(&self, server: &Server, target: &Target) -> Option<Verdict> {
        let content: Content = self.file.as_ref()?.content();
        let kept = content.verdicts.get(&content.key(server, target))?;
        let verdict =
            Verdict { revision: kept.protocol.parse().ok()?, wire: Wire::of(&kept.wire)? };
        let age = Timestamp::now().duration_since(kept.at);
        let fresh = age.abs() < SignedDuration::from_hours(24);
        (!verdict.revision.is_handshake() || fresh).then_some(verdict)
    }

    /// Keeps what a server is, if that is news.
    pub(crate) fn remember(&self, server: &Server, target: &Target, verdict: Verdict) {
        let Some(file) = &self.file else { return };
        if self.recall(server, target) == Some(verdict) {
            return;
        }
        let kept = Kept {
            protocol: verdict.revision.as_str().to_owned(),
            wire: verdict.wire.as_str().to_owned(),
            at: Timestamp::now(),
        };
        let written = file.change(|content: &mut Content| {
            content.v = 1;
            if content.salt.is_empty() {
                content.salt = format!("{:016x}", fastrand::u64(..));
            }
            content.verdicts.insert(content.key(server, target), kept);
            while content.verdicts.len() > MAX {
                let oldest = content.verdicts.iter().min_by_key(|(_, kept)| kept.at);
                let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
                content.verdicts.remove(&key);
            }
            true
        });
        if let Err(error) = written {
            // Only a probe more next time.
            tracing::warn!(%error, "the era of a server could not be kept");
        }
    }
}
