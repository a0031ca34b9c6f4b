//! Secrets in texts for a log, a status or an error: known values, and what has the shape of one.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

/// What stands in for a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Known values shorter than this are not looked for: they would blot out ordinary words.
const SHORTEST: usize = 4;

/// Beginnings of well-known credentials, and how many characters must follow at least.
const PREFIXES: [(&str, usize); 20] = [
    ("sk-", 8),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("ghp_", 8),
    ("gho_", 8),
    ("ghu_", 8),
    ("ghs_", 8),
    ("ghr_", 8),
    ("github_pat_", 8),
    ("glpat-", 8),
    ("npm_", 20),
    ("xoxa-", 8),
    ("xoxb-", 8),
    ("xoxp-", 8),
    ("xoxr-", 8),
    ("xoxs-", 8),
    ("xapp-", 8),
    ("AIza", 30),
    ("hf_", 20),
];

/// Names before `=` whose value is a secret, alone or as the end of a longer name.
const NAMES: [&str; 11] = [
    "token",
    "api_key",
    "apikey",
    "api-key",
    "secret",
    "password",
    "passwd",
    "access_key",
    "private_key",
    "signature",
    "auth",
];

/// Words that follow "bearer" in prose and in challenges.
const NO_TOKENS: [&str; 12] = [
    "auth",
    "authentication",
    "authorization",
    "error",
    "header",
    "is",
    "realm",
    "scheme",
    "scope",
    "token",
    "tokens",
    "was",
];

/// `text` with each of `secrets` that has at least 4 characters, and everything that looks like a
/// credential, replaced by `[REDACTED]`. The scheme, name or URL around one stays.
///
/// Linear in the text for each secret. Borrowed when nothing was replaced.
#[must_use]
pub fn text<'a>(text: &'a str, secrets: &[&str]) -> Cow<'a, str> {
    let mut found = shapes(text);
    for secret in secrets.iter().filter(|s| s.chars().nth(SHORTEST - 1).is_some()) {
        let places = memmem::find_iter(text.as_bytes(), secret.as_bytes());
        found.extend(places.map(|at| at..at + secret.len()));
    }
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|place| place.start);
    replaced(text, &found)
}

/// `found` is in order; places that overlap become one.
fn replaced<'a>(text: &'a str, found: &[Range<usize>]) -> Cow<'a, str> {
    let mut built = String::with_capacity(text.len());
    let mut done = 0;
    for place in found {
        if place.start >= done {
            built.push_str(text.get(done..place.start).unwrap_or_default());
            built.push_str(REDACTED);
        }
        done = done.max(place.end);
    }
    built.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(built)
}

/// Places of what looks like a credential. Each look goes forward only, and past what it found.
fn shapes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut word = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        let place = match byte {
            b'=' => assigned(text, word, at),
            b':' => user_info(text, at),
            _ if at == word => credential(text, at),
            _ => None,
        };
        at = place.as_ref().map_or(at + 1, |place| place.end);
        if place.is_some() || !is_word(*byte) {
            word = at;
        }
        found.extend(place);
    }
    found
}

/// A credential that begins at `at`, where a word begins.
fn credential(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    if rest.starts_with("eyJ") {
        return jwt(rest).map(|len| at..at + len);
    }
    if rest.starts_with("AKIA") || rest.starts_with("ASIA") {
        let len = run(rest, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
        return (len == 20).then_some(at..at + len);
    }
    if let Some((prefix, least)) = PREFIXES.iter().find(|(prefix, _)| rest.starts_with(prefix)) {
        let len = run(rest, is_word);
        return (len >= prefix.len() + least).then_some(at..at + len);
    }
    behind_scheme(text, at)
}

/// Header, payload and signature (which may be empty), each in base64url.
fn jwt(rest: &str) -> Option<usize> {
    let header = run(rest, is_word);
    let payload = run(rest.get(header..)?.strip_prefix('.')?, is_word);
    if header < 8 || payload == 0 {
        return None;
    }
    let len = header + 1 + payload;
    let signature = rest.get(len..)?.strip_prefix('.').map_or(0, |tail| 1 + run(tail, is_word));
    Some(len + signature)
}

/// What follows `Bearer` or `Basic`.
fn behind_scheme(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(at..)?;
    let is = |scheme: &str| {
        rest.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    let (bearer, basic) = (is("bearer"), is("basic"));
    let after = at + if bearer { 6 } else { 5 };
    let blanks = run(text.get(after..).filter(|_| bearer || basic)?, |b| b == b' ');
    let start = after + blanks;
    let tail = text.get(start..).filter(|_| blanks > 0)?;
    let token = tail.get(..run(tail, is_token68))?;
    let is_secret = if bearer {
        let plain = token.trim_end_matches(['.', ',']);
        let challenge = tail.get(token.len()..).is_some_and(|next| next.starts_with('"'));
        !plain.is_empty() && !challenge && !NO_TOKENS.iter().any(|w| plain.eq_ignore_ascii_case(w))
    } else {
        let is_odd = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'=';
        token.len() >= 8 && token.len().is_multiple_of(4) && token.bytes().any(is_odd)
    };
    is_secret.then(|| start..start + token.len())
}

/// The value behind the `=` at `equals`, if the name before it, which begins at `word`, asks for
/// that.
fn assigned(text: &str, word: usize, equals: usize) -> Option<Range<usize>> {
    let name = text.as_bytes().get(word..equals)?;
    let is_secret = NAMES.iter().any(|end| {
        let tail = name.len().checked_sub(end.len()).and_then(|from| name.get(from..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
    });
    let rest = text.get(equals + 1..).filter(|_| is_secret)?;
    let quote = rest.bytes().next().filter(|b| matches!(b, b'"' | b'\''));
    let start = equals + 1 + usize::from(quote.is_some());
    let ends = |b: u8| match quote {
        Some(quote) => b == quote || b == b'\n',
        None => b <= b' ' || b"&;,#\"'<>)]}".contains(&b),
    };
    let len = run(text.get(start..)?, |b| !ends(b));
    let done = text.get(start..)?.starts_with(REDACTED);
    (len > 0 && !done).then_some(start..start + len)
}

/// User and password of a URL whose `://` begins at `colon`.
fn user_info(text: &str, colon: usize) -> Option<Range<usize>> {
    let rest = text.get(colon..)?.strip_prefix("://")?;
    let ends = |b: u8| b <= b' ' || b"/?#\"'<>\\".contains(&b);
    let authority = rest.get(..run(rest, |b| !ends(b)))?;
    let len = authority.rfind('@').filter(|len| *len > 0)?;
    Some(colon + 3..colon + 3 + len)
}

/// How many bytes at the start of `text` are of this kind.
fn run(text: &str, is: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !is(byte)).unwrap_or(text.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_token68(byte: u8) -> bool {
    is_word(byte) || b".~+/=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::text;
    use std::borrow::Cow;

    #[test]
    fn a_known_value_never_stays() {
        let secrets = ["hunter2", "abc", "hunter2-long", "héé!"];
        let cases = [
            ("pass hunter2!", "pass [REDACTED]!"),
            ("hunter2-long", "[REDACTED]"),
            ("hunter2hunter2", "[REDACTED][REDACTED]"),
            ("abc is too short", "abc is too short"),
            ("x héé! y", "x [REDACTED] y"),
        ];
        for (written, shown) in cases {
            assert_eq!(text(written, &secrets), shown);
        }
    }

    #[test]
    fn what_looks_like_a_credential_goes_and_what_is_around_it_stays() {
        let cases = [
            ("Authorization: Bearer abc.DEF-1~+/==", "Authorization: Bearer [REDACTED]"),
            ("bearer   xyz, next", "bearer   [REDACTED], next"),
            ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [REDACTED]"),
            ("key sk-ant-api03-AbC_9", "key [REDACTED]"),
            ("(ghp_16C7e42F292c6912E7)", "([REDACTED])"),
            ("github_pat_11ABCDEFG_x", "[REDACTED]"),
            ("xoxb-1234567890-abc.", "[REDACTED]."),
            ("id AKIAIOSFODNN7EXAMPLE", "id [REDACTED]"),
            ("t=eyJhbGciOi.eyJzdWIi.sig-_1 end", "t=[REDACTED] end"),
            ("postgres://me:pa@ss@db/x", "postgres://[REDACTED]@db/x"),
            ("GET /a?token=abc&b=1", "GET /a?token=[REDACTED]&b=1"),
            ("?API_KEY=abc#f", "?API_KEY=[REDACTED]#f"),
            ("GITHUB_TOKEN=\"a b\" c", "GITHUB_TOKEN=\"[REDACTED]\" c"),
            ("client_secret=x;access_token=y", "client_secret=[REDACTED];access_token=[REDACTED]"),
            ("é sk-12345678é", "é [REDACTED]é"),
        ];
        for (written, shown) in cases {
            assert_eq!(text(written, &[]), shown, "{written}");
            assert_eq!(text(shown, &[]), shown, "twice");
        }
    }

    #[test]
    fn ordinary_words_stay() {
        let cases = [
            "WWW-Authenticate: Bearer realm=\"x\", error=\"invalid_token\"",
            "bearer token is missing; basic authentication is off",
            "task-management and risk-assessment, sk-learn",
            "https://example.com/a@b?x=1&token=",
            "tokens=5 max_tokens=5 eyJx AKIAshort",
            "mailto:me@example.com é=ü ://",
        ];
        for plain in cases {
            assert!(matches!(text(plain, &["zzzz"]), Cow::Borrowed(_)), "{}", text(plain, &[]));
        }
    }

    #[test]
    fn no_mixture_of_pieces_makes_it_panic_or_keeps_a_known_value() {
        let pieces =
            ["token=", "://", "@", "Bearer ", "sk-", "é", "hunter2", "eyJ", ".", "\"", " "];
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let count = random.usize(0..12);
            let mixed: String = (0..count).map(|_| pieces[random.usize(0..pieces.len())]).collect();
            assert!(!text(&mixed, &["hunter2"]).contains("hunter2"), "{mixed}");
        }
    }

    #[test]
    fn long_hostile_texts_cost_no_quadratic_time() {
        for piece in ["token=", "://", "eyJ.", "sk-", "Bearer ", "=", "a://b@", "Bearer a=\""] {
            let long = piece.repeat(2_000_000 / piece.len());
            assert!(text(&long, &["aaaa"]).len() <= 10 * long.len());
        }
    }
}
