//! A form that a server wants to be filled in (form elicitation). Pure.
//!
//! Fields are flat: text, numbers, booleans and choices. What cannot be read as one of them is a
//! text field, since the server checks the answer anyway.

use serde_json::{Map, Value, json};

/// A form has no more fields than this.
const MAX_FIELDS: usize = 64;
/// A choice has no more options than this.
const MAX_OPTIONS: usize = 256;

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) kind: FieldKind,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
}

/// What may be put in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldKind {
    Text,
    Number,
    Integer,
    Boolean,
    /// One of these: value and what is shown.
    Choice(Vec<(String, String)>),
    /// Several of these.
    Choices(Vec<(String, String)>),
}

/// Why an answer cannot be used.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum BadAnswer {
    #[error("this field is required")]
    Missing,
    #[error("write a number")]
    Number,
    #[error("write an integer")]
    Integer,
    #[error("write `yes` or `no`")]
    Boolean,
    #[error("choose one of the options, by its number or its value")]
    Choice,
}

/// The fields of `requestedSchema`, in its order.
pub(crate) fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .take(MAX_FIELDS)
        .map(|(name, field)| Field {
            name: name.clone(),
            title: text(field, "title"),
            description: text(field, "description"),
            kind: kind(field),
            required: required.contains(&name.as_str()),
            default: field.get("default").filter(|value| !value.is_null()).cloned(),
        })
        .collect()
}

fn text(field: &Value, key: &str) -> Option<String> {
    field.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn kind(field: &Value) -> FieldKind {
    if let Some(options) = options(field) {
        return FieldKind::Choice(options);
    }
    match field.get("type").and_then(Value::as_str) {
        Some("number") => FieldKind::Number,
        Some("integer") => FieldKind::Integer,
        Some("boolean") => FieldKind::Boolean,
        Some("array") => match field.get("items").and_then(options) {
            Some(options) => FieldKind::Choices(options),
            None => FieldKind::Text,
        },
        _ => FieldKind::Text,
    }
}

/// `enum` with or without `enumNames`, or `oneOf`/`anyOf` of `const` and `title`.
fn options(field: &Value) -> Option<Vec<(String, String)>> {
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let names = field.get("enumNames").and_then(Value::as_array);
        let name = |at: usize| names.and_then(|all| all.get(at)).and_then(Value::as_str);
        let values = values.iter().take(MAX_OPTIONS).filter_map(Value::as_str).enumerate();
        return Some(
            values.map(|(i, v)| (v.to_owned(), name(i).unwrap_or(v).to_owned())).collect(),
        );
    }
    let parts = ["oneOf", "anyOf"].iter().find_map(|key| field.get(key)?.as_array())?;
    let options: Vec<_> = parts
        .iter()
        .take(MAX_OPTIONS)
        .filter_map(|part| {
            let value = text(part, "const")?;
            Some((value.clone(), text(part, "title").unwrap_or(value)))
        })
        .collect();
    (!options.is_empty()).then_some(options)
}

impl Field {
    /// What stands before the cursor: name, what it is, its default.
    pub(crate) fn prompt(&self) -> String {
        let mut prompt = match &self.title {
            Some(title) if *title != self.name => format!("{title} ({})", self.name),
            _ => self.name.clone(),
        };
        if let Some(description) = &self.description {
            prompt = format!("{prompt}: {description}");
        }
        if let FieldKind::Choice(options) | FieldKind::Choices(options) = &self.kind {
            for (number, (value, shown)) in options.iter().enumerate() {
                let value = if value == shown { String::new() } else { format!(" ({value})") };
                prompt = format!("{prompt}\n  {}. {shown}{value}", number + 1);
            }
        }
        let what = match self.kind {
            FieldKind::Text => "text",
            FieldKind::Number => "number",
            FieldKind::Integer => "integer",
            FieldKind::Boolean => "yes or no",
            FieldKind::Choice(_) => "one of these",
            FieldKind::Choices(_) => "any of these, with commas between",
        };
        let need = if self.required { ", required" } else { "" };
        match &self.default {
            Some(default) => format!("{prompt}\n  [{what}{need}; Enter takes {default}]: "),
            None => format!("{prompt}\n  [{what}{need}]: "),
        }
    }

    /// The value of an answer; `None` leaves the field out.
    pub(crate) fn read(&self, answer: &str) -> Result<Option<Value>, BadAnswer> {
        let answer = answer.trim();
        if answer.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.required => Err(BadAnswer::Missing),
                None => Ok(None),
            };
        }
        let number = || serde_json::from_str::<Value>(answer).ok().filter(Value::is_number);
        Ok(Some(match &self.kind {
            FieldKind::Text => Value::from(answer),
            FieldKind::Number => number().ok_or(BadAnswer::Number)?,
            FieldKind::Integer => {
                number().filter(|n| n.is_i64() || n.is_u64()).ok_or(BadAnswer::Integer)?
            }
            FieldKind::Boolean => match answer.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" | "on" | "1" => Value::Bool(true),
                "n" | "no" | "false" | "off" | "0" => Value::Bool(false),
                _ => return Err(BadAnswer::Boolean),
            },
            FieldKind::Choice(options) => choose(options, answer)?,
            FieldKind::Choices(options) => {
                let chosen = answer.split(',').map(|one| choose(options, one.trim()));
                Value::Array(chosen.collect::<Result<_, _>>()?)
            }
        }))
    }
}

/// By value, by what is shown, by number: in this order, for a value may look like a number.
fn choose(options: &[(String, String)], answer: &str) -> Result<Value, BadAnswer> {
    let by_value = options.iter().find(|(value, _)| value == answer);
    let by_name = || options.iter().find(|(_, shown)| shown == answer);
    let by_number = || options.get(answer.parse::<usize>().ok()?.checked_sub(1)?);
    let found = by_value.or_else(by_name).or_else(by_number).ok_or(BadAnswer::Choice)?;
    Ok(Value::from(found.0.clone()))
}

/// The result of an accepted form.
pub(crate) fn accepted(content: &Map<String, Value>) -> String {
    json!({"action": "accept", "content": content}).to_string()
}

#[cfg(test)]
mod tests {
    use super::{BadAnswer, fields};
    use serde_json::{Value, json};

    fn form() -> Vec<super::Field> {
        fields(&json!({"required": ["name", "size"], "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer", "description": "In years", "default": 30},
            "ok": {"type": "boolean"},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
            "tags": {"type": "array", "items": {"anyOf": [{"const": "2", "title": "Two"}, {"const": "x"}]}},
            "ratio": {"type": "number"}, "odd": {"type": ["weird"]}
        }}))
    }

    #[test]
    fn each_field_says_what_it_wants() {
        let shown: Vec<String> = form().iter().map(super::Field::prompt).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        Your name (name)
          [text, required]: 
        age: In years
          [integer; Enter takes 30]: 
        ok
          [yes or no]: 
        size
          1. Small (s)
          2. Large (l)
          [one of these, required]: 
        tags
          1. Two (2)
          2. x
          [any of these, with commas between]: 
        ratio
          [number]: 
        odd
          [text]:
        ");
    }

    #[test]
    fn answers_become_values_of_the_fields_type() {
        let table: [(usize, &str, Result<Value, BadAnswer>); 15] = [
            (0, "Ada", Ok(json!("Ada"))),
            (0, " ", Err(BadAnswer::Missing)),
            (1, "", Ok(json!(30))),
            (1, "7", Ok(json!(7))),
            (1, "7.5", Err(BadAnswer::Integer)),
            (2, "Yes", Ok(json!(true))),
            (2, "maybe", Err(BadAnswer::Boolean)),
            (3, "l", Ok(json!("l"))),
            (3, "Small", Ok(json!("s"))),
            (3, "2", Ok(json!("l"))),
            (3, "3", Err(BadAnswer::Choice)),
            (4, "x, 2", Ok(json!(["x", "2"]))),
            (5, "1.5", Ok(json!(1.5))),
            (5, "true", Err(BadAnswer::Number)),
            (6, "5", Ok(json!("5"))),
        ];
        let form = form();
        for (field, answer, expected) in table {
            let read = form[field].read(answer).map(Option::unwrap_or_default);
            assert_eq!(read, expected, "{} = {answer:?}", form[field].name);
        }
        assert_eq!(form[2].read(""), Ok(None));
    }
}
