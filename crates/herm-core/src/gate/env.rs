//! What a child inherits: a list, never the whole environment.

use std::collections::BTreeMap;

use crate::secret::Secret;

/// Variables that every child gets when they are set, beside `XDG_*`.
pub const BASE: [&str; 8] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR"];

/// The whole environment of a child: the base list and `XDG_*`, then `pass_env`, then the entry's
/// own variables. Nothing else.
#[must_use]
pub fn child<'a>(
    ours: impl IntoIterator<Item = (&'a str, &'a str)>,
    pass_env: &[String],
    entry: &[(String, Secret)],
) -> BTreeMap<String, Secret> {
    let mut built: BTreeMap<String, Secret> = ours
        .into_iter()
        .filter(|(name, _)| {
            BASE.contains(name) || name.starts_with("XDG_") || pass_env.iter().any(|p| p == name)
        })
        .map(|(name, value)| (name.to_owned(), Secret::new(value)))
        .collect();
    built.extend(entry.iter().cloned());
    built
}

#[cfg(test)]
mod tests {
    use super::child;
    use crate::secret::Secret;

    #[test]
    fn a_child_gets_the_list_and_nothing_else() {
        let ours = [
            ("PATH", "/bin"),
            ("XDG_DATA_HOME", "/d"),
            ("AWS_SECRET", "s"),
            ("LD_PRELOAD", "x"),
            ("CA", "c"),
            ("LANG", "C"),
        ];
        let built = child(
            ours,
            &["CA".to_owned()],
            &[("LANG".to_owned(), Secret::new("de")), ("NEED".to_owned(), Secret::new("v"))],
        );
        let shown: Vec<_> = built.iter().map(|(k, v)| (k.as_str(), v.expose())).collect();
        assert_eq!(
            shown,
            [("CA", "c"), ("LANG", "de"), ("NEED", "v"), ("PATH", "/bin"), ("XDG_DATA_HOME", "/d")]
        );
    }
}
