//! Questions of servers, put to the person at the terminal: forms and links, nothing else.

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use herm_core::name::ServerName;
use herm_host::{Answer, Answerer, Answering, Ask, NoAnswer};
use serde_json::{Map, Value, json};

use crate::form;
use crate::ui::{ask_aloud, shorten};

/// A line of an answer has no more bytes than this.
const MAX_LINE: u64 = 64 << 10;
/// A question of a server is cut here.
const MAX_MESSAGE: usize = 4000;
/// After so many unusable answers in a row the form is cancelled.
const MAX_TRIES: usize = 10;

/// An answerer that asks on standard error and reads standard input.
pub(crate) fn on_terminal() -> Answerer {
    Answerer::Callback(Arc::new(Terminal::default()))
}

/// One question at a time: servers may ask side by side.
#[derive(Debug, Default)]
struct Terminal {
    turn: Arc<Mutex<()>>,
}

impl Answer for Terminal {
    fn capabilities(&self) -> String {
        r#"{"elicitation":{"form":{},"url":{}}}"#.to_owned()
    }

    fn answer(&self, ask: Ask) -> Answering {
        let turn = Arc::clone(&self.turn);
        Box::pin(async move {
            if ask.method != "elicitation/create" {
                return Err(NoAnswer::NotDeclared);
            }
            let asked = tokio::task::spawn_blocking(move || {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let mut lines = io::stdin().lock();
                put(&ask, &mut lines, &mut ask_aloud)
            });
            // A terminal that is gone, or a question that broke, is no answer: that is a cancel.
            Ok(asked.await.ok().and_then(Result::ok).unwrap_or_else(cancelled))
        })
    }
}

fn cancelled() -> String {
    json!({"action": "cancel"}).to_string()
}

fn declined() -> String {
    json!({"action": "decline"}).to_string()
}

type Say<'a> = &'a mut dyn FnMut(&str) -> io::Result<()>;

/// Puts one question and gives the JSON of its answer.
fn put(ask: &Ask, lines: &mut dyn BufRead, say: Say<'_>) -> io::Result<String> {
    let params: Value =
        ask.params.as_ref().and_then(|p| serde_json::from_str(p.get()).ok()).unwrap_or_default();
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    head(&ask.server, message, say)?;
    if params.get("mode").and_then(Value::as_str) == Some("url") {
        return put_url(&params, lines, say);
    }
    match choice("Answer it?", lines, say)? {
        Choice::Yes => put_form(params.get("requestedSchema").unwrap_or(&Value::Null), lines, say),
        Choice::No => Ok(declined()),
        Choice::Cancel => Ok(cancelled()),
    }
}

fn head(server: &ServerName, message: &str, say: Say<'_>) -> io::Result<()> {
    say(&format!("\nMCP server `{server}` asks:\n"))?;
    for line in shorten(message, MAX_MESSAGE).lines() {
        say(&format!("  | {line}\n"))?;
    }
    say("Do not give it secrets that are none of its business.\n")
}

fn put_form(schema: &Value, lines: &mut dyn BufRead, say: Say<'_>) -> io::Result<String> {
    let mut content = Map::new();
    for field in form::fields(schema) {
        let mut tries = 0;
        loop {
            say(&field.prompt())?;
            let Some(answer) = line(lines)? else { return Ok(cancelled()) };
            match field.read(&answer) {
                Ok(Some(value)) => {
                    content.insert(field.name.clone(), value);
                    break;
                }
                Ok(None) => break,
                Err(why) => say(&format!("  {why}\n"))?,
            }
            tries += 1;
            if tries == MAX_TRIES {
                return Ok(cancelled());
            }
        }
    }
    Ok(match choice("Send these answers?", lines, say)? {
        Choice::Yes => form::accepted(&content),
        Choice::No => declined(),
        Choice::Cancel => cancelled(),
    })
}

/// The whole URL is shown, and whose it is. It is never opened or fetched by us.
fn put_url(params: &Value, lines: &mut dyn BufRead, say: Say<'_>) -> io::Result<String> {
    let text = params.get("url").and_then(Value::as_str).unwrap_or_default();
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some((url, host)) = url.as_ref().and_then(|url| Some((url, url.host_str()?))) else {
        say("It wants you to open something that is no web address: declined.\n")?;
        return Ok(declined());
    };
    say(&format!(
        "It wants you to open this page of >>> {host} <<< in your browser:\n\n  {url}\n\n"
    ))?;
    match choice("Do you agree to?", lines, say)? {
        Choice::Yes => {
            say("Open it yourself now; the call goes on.\n")?;
            Ok(json!({"action": "accept"}).to_string())
        }
        Choice::No => Ok(declined()),
        Choice::Cancel => Ok(cancelled()),
    }
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    Yes,
    No,
    Cancel,
}

/// Only a plain yes is a yes, and only a plain no is a no: what is neither is asked again, for it
/// may be meant as the answer itself. The end of input cancels.
fn choice(question: &str, lines: &mut dyn BufRead, say: Say<'_>) -> io::Result<Choice> {
    for _ in 0..MAX_TRIES {
        say(&format!("{question} [y]es, [n]o (decline), [c]ancel: "))?;
        let Some(answer) = line(lines)? else { break };
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(Choice::Yes),
            "n" | "no" => return Ok(Choice::No),
            "c" | "cancel" => return Ok(Choice::Cancel),
            _ => say("  write `y`, `n` or `c`\n")?,
        }
    }
    Ok(Choice::Cancel)
}

fn line(lines: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = lines.take(MAX_LINE).read_until(b'\n', &mut bytes)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::put;
    use herm_host::Ask;
    use serde_json::value::RawValue;

    fn asked(params: &str, answers: &str) -> String {
        let ask = Ask {
            server: "shop".parse().unwrap(),
            method: "elicitation/create".to_owned(),
            params: Some(RawValue::from_string(params.to_owned()).unwrap()),
            round: 1,
        };
        let mut shown = String::new();
        let mut say = |text: &str| {
            shown.push_str(text);
            Ok(())
        };
        let answer = put(&ask, &mut answers.as_bytes(), &mut say).unwrap();
        format!("{shown}\n=> {answer}")
    }

    const FORM: &str = r#"{"message":"Which size?","requestedSchema":{"type":"object","required":["n"],
        "properties":{"n":{"type":"integer"},"gift":{"type":"boolean","default":false}}}}"#;

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        insta::assert_snapshot!(asked(FORM, "y\nmany\n3\n\ny\n"), @r#"

        MCP server `shop` asks:
          | Which size?
        Do not give it secrets that are none of its business.
        Answer it? [y]es, [n]o (decline), [c]ancel: n
          [integer, required]:   write an integer
        n
          [integer, required]: gift
          [yes or no; Enter takes false]: Send these answers? [y]es, [n]o (decline), [c]ancel: 
        => {"action":"accept","content":{"n":3,"gift":false}}
        "#);
    }

    #[test]
    fn only_a_yes_is_a_yes_and_the_end_of_input_cancels() {
        let table = [
            ("n\n", "decline"),
            ("\n", "cancel"),
            ("Bob\nno\n", "decline"),
            ("Bob\ny\n1\n\nyes please\nn\n", "decline"),
            ("c\n", "cancel"),
            ("", "cancel"),
            ("y\n", "cancel"),
            ("y\n1\n\n", "cancel"),
            ("y\n1\n\nno\n", "decline"),
        ];
        for (answers, action) in table {
            let shown = asked(FORM, answers);
            assert!(
                shown.ends_with(&format!(r#"=> {{"action":"{action}"}}"#)),
                "{answers:?}: {shown}"
            );
        }
        assert!(asked(FORM, "Bob\nn\n").contains("  write `y`, `n` or `c`\nAnswer it? "));
        let endless = "x\n".repeat(1000);
        assert!(asked(FORM, &endless).ends_with(r#"{"action":"cancel"}"#));
        assert!(asked(FORM, &format!("y\n{endless}")).ends_with(r#"{"action":"cancel"}"#));
    }

    #[test]
    fn a_link_is_shown_whole_with_its_true_host() {
        let url =
            r#"{"mode":"url","message":"Log in","url":"https://bank.example@evil.example/a?b=c"}"#;
        insta::assert_snapshot!(asked(url, "y\n"), @r#"

        MCP server `shop` asks:
          | Log in
        Do not give it secrets that are none of its business.
        It wants you to open this page of >>> evil.example <<< in your browser:

          https://bank.example@evil.example/a?b=c

        Do you agree to? [y]es, [n]o (decline), [c]ancel: Open it yourself now; the call goes on.

        => {"action":"accept"}
        "#);
        let script = r#"{"mode":"url","message":"Log in","url":"javascript:alert(1)"}"#;
        assert!(asked(script, "y\n").ends_with(r#"{"action":"decline"}"#));
    }
}
