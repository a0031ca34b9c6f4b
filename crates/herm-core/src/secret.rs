//! Values that do not print.

use std::fmt;

/// A value that must not reach a log, a status or an error.
///
/// It has no `Display` and no `Serialize`; [`Secret::expose`] is the one way to the text, and can
/// be searched for.
#[derive(Clone, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_in_a_debug_print_stays_hidden() {
        let shown = format!("{:?}", Some(Secret::new("hunter2")));
        assert_eq!(shown, "Some([REDACTED])");
    }
}
