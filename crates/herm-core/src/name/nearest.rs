//! Did you mean …?

/// The known name that is nearest to `wanted`, if one is near enough to be a slip of the pen.
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // Distances cost the product of the lengths: what is no name is not measured.
    let fits = |name: &&str| name.len() <= 128 && wanted.len() <= 128;
    known
        .filter(fits)
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .min()
        .filter(|(distance, _)| *distance <= (wanted.chars().count() / 3).max(1))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_a_slip_is_near() {
        let known = ["github", "gitlab", "files"];
        for (wanted, expected) in
            [("githbu", Some("github")), ("file", Some("files")), ("weather", None), ("", None)]
        {
            let found = nearest(wanted, known.iter().copied());
            assert_eq!(found.as_deref(), expected, "{wanted}");
        }
    }
}
