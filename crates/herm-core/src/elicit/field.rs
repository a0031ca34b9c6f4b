//! One field of a form: how it is described, and what counts as an answer (I-3, I-7).

use serde_json::{Map, Value};
use url::Url;

use super::shown;

/// The most choices that a field may offer.
const MAX_CHOICES: usize = 4096;

/// The longest pattern that is tried, bytes; the size that it may compile to is bounded as well.
const MAX_PATTERN: usize = 1024;

/// One field.
#[derive(Clone, Debug)]
pub struct Field {
    /// The key of its value.
    pub name: String,
    /// `title`; untrusted.
    pub title: Option<String>,
    /// `description`; untrusted.
    pub description: Option<String>,
    /// What it takes.
    pub kind: Kind,
    /// `default`, as written; not checked yet.
    pub default: Option<Value>,
    /// Whether an answer must have it.
    pub required: bool,
    /// Whether it looks like it wants a secret, which forms must not collect (I-7).
    pub secret: bool,
}

/// What a field takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A text.
    Text {
        /// `format`.
        format: Option<Format>,
        /// `minLength`, characters.
        min: Option<u64>,
        /// `maxLength`, characters.
        max: Option<u64>,
        /// `pattern`: a regular expression. One that we cannot compile is left to the server.
        pattern: Option<String>,
    },
    /// A number.
    Number {
        /// `minimum`.
        min: Option<f64>,
        /// `maximum`.
        max: Option<f64>,
    },
    /// A whole number.
    Integer {
        /// `minimum`.
        min: Option<f64>,
        /// `maximum`.
        max: Option<f64>,
    },
    /// Yes or no.
    Boolean,
    /// One of these: plain `enum`, titled `oneOf`, or `enum` with `enumNames`.
    One(Vec<Choice>),
    /// Several of these: an array of `enum`, or of titled `anyOf`.
    Many {
        /// The choices.
        choices: Vec<Choice>,
        /// `minItems`.
        min: Option<u64>,
        /// `maxItems`.
        max: Option<u64>,
    },
}

/// `format` of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Format {
    /// An address with one `@`.
    Email,
    /// An absolute URI.
    Uri,
    /// `2026-07-28`
    Date,
    /// `2026-07-28T09:30:00Z`
    DateTime,
    /// Another one, which is shown but not checked.
    Other(String),
}

/// One choice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What is shown; the value if absent.
    pub title: Option<String>,
}

impl Field {
    pub(super) fn read(name: &str, schema: &Value, required: bool) -> Result<Self, String> {
        let schema =
            schema.as_object().ok_or_else(|| format!("field `{}` is no schema", shown(name)))?;
        let kind = Kind::read(schema).map_err(|why| format!("field `{}` {why}", shown(name)))?;
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let title = text("title");
        let secret = wants_secret(name) || title.as_deref().is_some_and(wants_secret);
        Ok(Self {
            name: name.to_owned(),
            secret: secret || schema.get("format").is_some_and(|format| format == "password"),
            title,
            description: text("description"),
            kind,
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            required,
        })
    }

    /// What a person typed, as the value to send. Blanks around it count only in a text.
    ///
    /// Yes or no: `yes`, `y`, `true`, `on`, `1` and their opposites. A choice: its value, else its
    /// title, else either in another case, else its number from 1. Several choices: with commas.
    ///
    /// # Errors
    /// What is wrong with it, to be shown before asking again.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let trimmed = text.trim();
        let value = match &self.kind {
            Kind::Text { format: None, .. } => Value::from(text),
            Kind::Text { .. } => Value::from(trimmed),
            Kind::Number { .. } => number(trimmed).ok_or("not a number")?,
            Kind::Integer { .. } => number(trimmed).filter(is_whole).ok_or("not a whole number")?,
            Kind::Boolean => Value::from(yes_or_no(trimmed).ok_or("answer `yes` or `no`")?),
            Kind::One(choices) => Value::from(choose(choices, trimmed)?),
            Kind::Many { choices, .. } => Value::from(choose_many(choices, trimmed)?),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Checks a value from anywhere: a default, a callback, a person.
    ///
    /// # Errors
    /// Which rule of the field it breaks.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match (&self.kind, value) {
            (Kind::Text { .. }, Value::String(text)) => self.check_text(text),
            (Kind::Number { min, max }, Value::Number(_)) => within(value, *min, *max),
            (Kind::Integer { min, max }, Value::Number(_)) if is_whole(value) => {
                within(value, *min, *max)
            }
            (Kind::Boolean, Value::Bool(_)) => Ok(()),
            (Kind::One(choices), Value::String(text)) => offered(choices, text),
            (Kind::Many { choices, min, max }, Value::Array(items)) => {
                for item in items {
                    offered(choices, item.as_str().ok_or("a choice is not a text")?)?;
                }
                counted(items.len(), *min, *max, "choices")
            }
            (kind, _) => Err(format!("the value is not {}", kind.what())),
        }
    }

    fn check_text(&self, text: &str) -> Result<(), String> {
        let Kind::Text { format, min, max, pattern } = &self.kind else { return Ok(()) };
        counted(text.chars().count(), *min, *max, "characters")?;
        if let Some(pattern) = pattern
            && matches(pattern, text) == Some(false)
        {
            return Err(format!("it does not match `{}`", shown(pattern)));
        }
        match format {
            Some(Format::Email) if !is_email(text) => Err("not an email address".to_owned()),
            Some(Format::Uri) if Url::parse(text).is_err() => Err("not a full URI".to_owned()),
            Some(Format::Date) if !is_date(text) => Err("not a date as `2026-07-28`".to_owned()),
            Some(Format::DateTime) if !is_date_time(text) => {
                Err("not a time as `2026-07-28T09:30:00Z`".to_owned())
            }
            _ => Ok(()), // no format, a good one, or one that we do not know
        }
    }
}

impl Kind {
    fn read(schema: &Map<String, Value>) -> Result<Self, String> {
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let kind = match schema.get("type") {
            None => None,
            Some(Value::String(kind)) => Some(kind.as_str()),
            Some(_) => return Err("has no single type".to_owned()),
        };
        match kind {
            None | Some("string")
                if schema.contains_key("enum") || schema.contains_key("oneOf") =>
            {
                choices(schema, "oneOf").map(Self::One)
            }
            Some("string") => Ok(Self::Text {
                format: schema.get("format").and_then(Value::as_str).map(Format::named),
                min: count("minLength"),
                max: count("maxLength"),
                pattern: schema.get("pattern").and_then(Value::as_str).map(str::to_owned),
            }),
            Some("number") => Ok(Self::Number { min: bound("minimum"), max: bound("maximum") }),
            Some("integer") => Ok(Self::Integer { min: bound("minimum"), max: bound("maximum") }),
            Some("boolean") => Ok(Self::Boolean),
            Some("array") => {
                let items = schema.get("items").and_then(Value::as_object);
                let items = items.ok_or("is a list of something other than choices")?;
                let choices = choices(items, "anyOf")?;
                Ok(Self::Many { choices, min: count("minItems"), max: count("maxItems") })
            }
            Some("object") => Err("is nested, forms are flat".to_owned()),
            _ => Err("has no type that a form can ask for".to_owned()),
        }
    }

    fn what(&self) -> &'static str {
        match self {
            Self::Text { .. } => "a text",
            Self::Number { .. } => "a number",
            Self::Integer { .. } => "a whole number",
            Self::Boolean => "true or false",
            Self::One(_) => "one of the choices",
            Self::Many { .. } => "a list of choices",
        }
    }
}

impl Format {
    fn named(name: &str) -> Self {
        match name {
            "email" => Self::Email,
            "uri" => Self::Uri,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// The choices of an `enum`, or titled under `titled` (`oneOf` and `anyOf` are taken for each
/// other).
fn choices(schema: &Map<String, Value>, titled: &str) -> Result<Vec<Choice>, String> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let found: Option<Vec<_>> = if let Some(values) = list("enum") {
        let names = list("enumNames").filter(|names| names.len() == values.len());
        let title = |at: usize| names.and_then(|names| names.get(at)).and_then(text);
        let choice = |(at, value)| Some(Choice { value: text(value)?, title: title(at) });
        values.iter().enumerate().map(choice).collect()
    } else {
        let parts = list(titled).or_else(|| list("oneOf")).or_else(|| list("anyOf"));
        let choice = |part: &Value| {
            Some(Choice {
                value: text(part.get("const")?)?,
                title: part.get("title").and_then(text),
            })
        };
        parts.ok_or("is a list of something other than choices")?.iter().map(choice).collect()
    };
    match found {
        Some(found) if found.len() > MAX_CHOICES => {
            Err(format!("has {} choices, over {MAX_CHOICES}", found.len()))
        }
        Some(found) => Ok(found),
        None => Err("has a choice that is not a text".to_owned()),
    }
}

fn number(text: &str) -> Option<Value> {
    let text = text.strip_prefix('+').filter(|rest| !rest.starts_with('-')).unwrap_or(text);
    serde_json::from_str::<serde_json::Number>(text).ok().map(Value::Number)
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "t" | "on" | "1" => Some(true),
        "no" | "n" | "false" | "f" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn choose(choices: &[Choice], text: &str) -> Result<String, String> {
    let titled = |choice: &Choice, same: fn(&str, &str) -> bool| {
        choice.title.as_deref().is_some_and(|title| same(title, text))
    };
    let exact: fn(&str, &str) -> bool = |a, b| a == b;
    let loose: fn(&str, &str) -> bool = |a, b| a.to_lowercase() == b.to_lowercase();
    let by_number = || choices.get(text.parse::<usize>().ok()?.checked_sub(1)?);
    let found = choices.iter().find(|choice| choice.value == text);
    let found = found.or_else(|| choices.iter().find(|choice| titled(choice, exact)));
    let found = found.or_else(|| {
        choices.iter().find(|choice| loose(&choice.value, text) || titled(choice, loose))
    });
    found.or_else(by_number).map(|choice| choice.value.clone()).ok_or_else(|| none_of(choices))
}

fn choose_many(choices: &[Choice], text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if let Ok(one) = choose(choices, text) {
        return Ok(vec![one]);
    }
    let mut chosen = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let choice = choose(choices, part)?;
        if !chosen.contains(&choice) {
            chosen.push(choice);
        }
    }
    Ok(chosen)
}

fn offered(choices: &[Choice], text: &str) -> Result<(), String> {
    let found = choices.iter().any(|choice| choice.value == text);
    if found { Ok(()) } else { Err(none_of(choices)) }
}

fn none_of(choices: &[Choice]) -> String {
    let shown: Vec<_> = choices.iter().take(10).map(|c| format!("`{}`", shown(&c.value))).collect();
    let more = if choices.len() > shown.len() { ", …" } else { "" };
    format!("not one of {}{more}", shown.join(", "))
}

fn within(value: &Value, min: Option<f64>, max: Option<f64>) -> Result<(), String> {
    let number = value.as_f64().ok_or("the number is out of range")?;
    match (min, max) {
        (Some(min), _) if number < min => Err(format!("less than {min}")),
        (_, Some(max)) if number > max => Err(format!("more than {max}")),
        _ => Ok(()), // within both, or unbounded
    }
}

fn counted(count: usize, min: Option<u64>, max: Option<u64>, what: &str) -> Result<(), String> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    match (min, max) {
        (Some(min), _) if count < min => Err(format!("{count} {what}, at least {min} are needed")),
        (_, Some(max)) if count > max => Err(format!("{count} {what}, at most {max} are allowed")),
        _ => Ok(()), // within both, or unbounded
    }
}

/// Whether the pattern occurs in the text; `None` if it is not one that we can try.
fn matches(pattern: &str, text: &str) -> Option<bool> {
    let pattern = Some(pattern).filter(|pattern| pattern.len() <= MAX_PATTERN)?;
    let mut builder = regex_lite::RegexBuilder::new(pattern);
    builder.size_limit(1 << 20).build().ok().map(|regex| regex.is_match(text))
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '@' | ',' | '<' | '>');
    !local.is_empty()
        && !text.chars().filter(|c| *c != '@').any(odd)
        && !local.contains('@')
        && domain.split('.').all(|label| !label.is_empty())
}

/// `YYYY-MM-DD`, a day that exists.
fn is_date(text: &str) -> bool {
    let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// A date and a time with its zone, as RFC 3339 writes them.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let Some(at) = time.find(['Z', 'z', '+', '-']) else { return false };
    let (time, zone) = time.split_at(at);
    let zone_is_fine = matches!(zone, "Z" | "z") || zone.get(1..).is_some_and(is_hour_and_minute);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let fraction_is_fine = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    let seconds_are_fine = clock.get(5..).and_then(|tail| tail.strip_prefix(':')).is_some_and(
        |seconds| digits(seconds, 2).is_some_and(|seconds| seconds <= 60), // 60: a leap second
    );
    is_date(date)
        && clock.get(..5).is_some_and(is_hour_and_minute)
        && seconds_are_fine
        && fraction_is_fine
        && zone_is_fine
}

fn is_hour_and_minute(text: &str) -> bool {
    text.split_once(':').is_some_and(|(hour, minute)| {
        digits(hour, 2).is_some_and(|hour| hour < 24)
            && digits(minute, 2).is_some_and(|minute| minute < 60)
    })
}

/// A number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let fits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// True if a name reads like that of a secret: `apiKey`, `db_password`, `PIN`.
fn wants_secret(name: &str) -> bool {
    let mut words = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            words.push(' ');
        }
        words.extend(if c.is_alphanumeric() { c } else { ' ' }.to_lowercase());
        before = c;
    }
    let is_secret = |word: &str| {
        matches!(
            word,
            "password"
                | "passwd"
                | "pwd"
                | "passphrase"
                | "passcode"
                | "secret"
                | "secrets"
                | "token"
                | "credential"
                | "credentials"
                | "pin"
                | "otp"
                | "cvv"
                | "cvc"
                | "apikey"
        )
    };
    let joined = words.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.split(' ').any(is_secret)
        || ["api key", "access key", "private key", "secret key", "card number"]
            .iter()
            .any(|pair| joined.contains(pair))
}
