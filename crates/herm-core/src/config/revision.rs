//! The revisions of the protocol: how they are written, and which of them shake hands.

use std::fmt;
use std::str::FromStr;

use super::Revision;

impl Revision {
    /// Every revision that herm speaks, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest one that opens with `initialize`.
    pub const NEWEST_HANDSHAKE: Self = Self::V2025_11_25;
    /// The newest one that opens without a handshake.
    pub const NEWEST_STATELESS: Self = Self::V2026_07_28;

    /// As it is written on the wire, `YYYY-MM-DD`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// True for the revisions that open with `initialize`.
    #[must_use]
    pub const fn is_handshake(self) -> bool {
        !matches!(self, Self::V2026_07_28)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is no revision of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no protocol revision that herm speaks")]
pub struct UnknownRevision;

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL.into_iter().find(|r| r.as_str() == text).ok_or(UnknownRevision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_is_read_back_as_it_is_written_and_nothing_else_is() {
        for revision in Revision::ALL {
            assert_eq!(revision.to_string().parse(), Ok(revision));
        }
        for text in ["2099-01-01", "", "2025-11-25 ", "V2025_11_25"] {
            assert_eq!(text.parse::<Revision>(), Err(UnknownRevision), "{text}");
        }
        assert!(Revision::ALL.is_sorted());
    }
}
