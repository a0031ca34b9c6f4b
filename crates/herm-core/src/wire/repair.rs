//! Mending what a typed decode cannot read.

use std::borrow::Cow;

/// Bytes of one `\uXXXX`.
const ESCAPE: usize = 6;

/// JSON text whose lone surrogate escapes are replaced by `\ufffd`; borrowed when there is none.
#[must_use]
pub fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut mended = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(next) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        at += next;
        match escape_at(bytes, at) {
            Some(high) if is_high(high) && escape_at(bytes, at + ESCAPE).is_some_and(is_low) => {
                at += 2 * ESCAPE;
            }
            Some(unit) if is_high(unit) || is_low(unit) => {
                mended.push_str(&json[copied..at]);
                mended.push_str("\\ufffd");
                at += ESCAPE;
                copied = at;
            }
            // Also steps over `\\`, so that the `u` behind it starts no escape.
            _ => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[copied..]);
    Cow::Owned(mended)
}

/// The UTF-16 unit of a `\uXXXX` that starts at `at`.
fn escape_at(bytes: &[u8], at: usize) -> Option<u16> {
    let hex = bytes.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    hex.iter().try_fold(0, |unit: u16, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}

fn is_high(unit: u16) -> bool {
    (0xD800..=0xDBFF).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xDC00..=0xDFFF).contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, mended) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\udE00x""#, r#""\ufffdx""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83dé\n""#, r#""\ufffdé\n""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
        ] {
            assert_eq!(without_lone_surrogates(json), mended);
            assert!(serde_json::from_str::<String>(mended).is_ok());
        }
        for fine in
            [r#""\\ud83d""#, r#""\ud83d\ude00""#, r#""é""#, "", r"\", r"\u", r"\ud83", r"\uD8é"]
        {
            assert!(matches!(without_lone_surrogates(fine), Cow::Borrowed(_)), "{fine}");
        }
    }
}
