//! Words of a command line, as a POSIX shell splits them; nothing is expanded.

/// Splits at blanks outside of quotes.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(found) = chars.next() {
        match found {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => quoted(found, &mut chars, word.get_or_insert_default())?,
            '\\' => match chars.next() {
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => return Err("ends with a lone `\\`".to_owned()),
            },
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(quote: char, chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    let unclosed = || format!("a quote {quote} is not closed");
    loop {
        match chars.next().ok_or_else(unclosed)? {
            found if found == quote => return Ok(()),
            '\\' if quote == '"' => {
                let escaped = chars.next().ok_or_else(unclosed)?;
                if !matches!(escaped, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(escaped);
            }
            found => word.push(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let words = split(r#"-y  pkg "a b" 'c "d' e\ f "" x"y"z "g\"h\n""#).unwrap();
        assert_eq!(words, ["-y", "pkg", "a b", "c \"d", "e f", "", "xyz", "g\"h\\n"]);
        assert!(split("").unwrap().is_empty());
        assert!(split("'open").is_err() && split("\"open\\").is_err() && split("x\\").is_err());
    }
}
