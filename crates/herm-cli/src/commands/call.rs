//! `call`: one tool, once.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herm_core::wire::{Raw, view};
use herm_gateway::json::{Called, millis};
use herm_gateway::ops::CallAsk;
use herm_host::Progress;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::app::Context;
use crate::arguments::{self, Object, Pair};
use crate::command_error::{CommandError, Exit};
use crate::door::{Door, DoorArgs, with_door};
use crate::select;
use crate::settings::{self, Settings};
use crate::show::result::{self, How, Unsaved};
use crate::show::save;
use crate::ui::{Ui, first_line};

/// `--args` has no more bytes than this.
const MAX_ARGS: u64 = 16 << 20;
/// Words of progress that may wait to be shown; more are dropped.
const MAX_PROGRESS: usize = 16;

/// Call a tool
///
/// Text goes to standard output as it is; images, sounds and other bytes go to files whose paths
/// are printed. Only the server that has the tool is started.
#[derive(Debug, clap::Args)]
pub(crate) struct CallArgs {
    /// The exposed name (`mcp__SERVER__TOOL`), or `SERVER.TOOL`
    name: String,
    /// Arguments: `key=value`, typed by the tool's schema, or `key:=JSON`
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// Arguments as a JSON object: the text itself, `@FILE`, or `-` for standard input; `key=value`
    /// beside it wins
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    args: Option<String>,
    /// Give up after so many seconds
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,
    /// Say yes where a call needs approval
    #[arg(long)]
    yes: bool,
    /// Save images, sounds and other bytes in this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Cut texts over N characters in the middle
    #[arg(long, value_name = "N")]
    max_chars: Option<usize>,
    #[command(flatten)]
    door: DoorArgs,
}

/// Arguments as given, before their types are known.
struct Given {
    object: Object,
    pairs: Vec<Pair>,
    /// `--args` alone: sent as it is.
    whole: Option<Raw>,
}

pub(crate) async fn run(args: &CallArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let deadline = args.timeout.map(deadline).transpose()?;
    if args.max_chars.is_some() && context.ui.look.json {
        return Err(CommandError::usage("`--max-chars` cuts what people read: `--json` is whole"));
    }
    let given = given(args)?;
    let settings = context.settings()?;
    settings::need_some(&settings)?;
    let owned = select::owner(&settings, &args.name)?;
    check_save(args.save.as_deref())?;
    let dir = results(args, &settings);
    let ask = CallAsk {
        server: owned.server.to_string(),
        tool: owned.raw,
        name: args.name.clone(),
        arguments: None,
        timeout_ms: deadline.map(millis),
    };
    let work = async |door: &Door<'_>, ui: &mut Ui| -> Result<Exit, CommandError> {
        let arguments = typed(door, &ask, given).await?;
        let called = call(door, ui, CallAsk { arguments, ..ask }).await?;
        print(ui, &called, args, &dir)
    };
    with_door(context, &settings, &[owned.server], args.door, work).await
}

fn deadline(seconds: f64) -> Result<Duration, CommandError> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .map(|time| time.max(Duration::from_millis(1))) // it is counted in milliseconds
        .ok_or_else(|| CommandError::usage("`--timeout` must be a number of seconds over 0"))
}

fn results(args: &CallArgs, settings: &Settings) -> PathBuf {
    args.save.clone().unwrap_or_else(|| settings.results.clone())
}

fn given(args: &CallArgs) -> Result<Given, CommandError> {
    let pairs = arguments::pairs(&args.arguments)?;
    let text = args.args.as_deref().map(whole).transpose()?;
    let object = text.as_deref().map(arguments::object).transpose()?.unwrap_or_default();
    let whole = match text.filter(|_| pairs.is_empty()) {
        Some(text) => Some(arguments::raw(text)?),
        None => None,
    };
    Ok(Given { object, pairs, whole })
}

/// The text of `--args`, wherever it is.
fn whole(args: &str) -> Result<String, CommandError> {
    let read = |from: &mut dyn Read, name: &str| {
        let mut text = String::new();
        let bad = |why: String| CommandError::usage(format!("{name} cannot be read: {why}"));
        let length = from.take(MAX_ARGS + 1).read_to_string(&mut text);
        match length.map_err(|error| bad(error.to_string()))? {
            length if length as u64 > MAX_ARGS => Err(bad(format!("over {MAX_ARGS} bytes"))),
            _ => Ok(text),
        }
    };
    match args.strip_prefix('@') {
        Some(file) => {
            let mut open = settings::open(Path::new(file)).map_err(CommandError::usage)?;
            read(&mut open, &format!("`{file}`"))
        }
        None if args == "-" => read(&mut std::io::stdin().lock(), "standard input"),
        None => Ok(args.to_owned()),
    }
}

/// The arguments as they are sent. The schema is asked for only if a value needs a type.
async fn typed(door: &Door<'_>, ask: &CallAsk, given: Given) -> Result<Option<Raw>, CommandError> {
    if given.pairs.is_empty() {
        return Ok(given.whole);
    }
    let mut schema = None;
    if given.pairs.iter().any(Pair::needs_type) {
        // None if the tool is not offered: the call itself says so then.
        let definition = door.definition(ask).await?.definition;
        schema = definition.and_then(|raw| view::tool(&raw).ok()?.input_schema);
    }
    let merged = arguments::merge(given.object, &given.pairs, schema.as_deref());
    merged.map(Some).map_err(|error| CommandError::from(error).tool(&ask.name))
}

/// The call, with its progress shown to a person meanwhile.
async fn call(door: &Door<'_>, ui: &mut Ui, ask: CallAsk) -> Result<Called, CommandError> {
    let (sender, mut progress) = mpsc::channel(MAX_PROGRESS);
    let sender = ui.look.person.then_some(sender);
    let mut call = std::pin::pin!(door.call(ask, sender));
    loop {
        tokio::select! {
            called = &mut call => return called,
            Some(word) = progress.recv() => ui.note(progress_line(&word))?,
        }
    }
}

fn progress_line(word: &Progress) -> String {
    #[derive(Deserialize)]
    struct Params {
        #[serde(default)]
        progress: serde_json::Value,
        #[serde(default)]
        total: serde_json::Value,
        #[serde(default)]
        message: serde_json::Value,
    }
    let Ok(params) = serde_json::from_str::<Params>(word.params.get()) else {
        return "…".to_owned();
    };
    let message = first_line(params.message.as_str().unwrap_or_default(), 100);
    match params.total.as_f64() {
        Some(total) => format!("… {} of {total} {message}", params.progress),
        None => format!("… {} {message}", params.progress),
    }
}

/// Refuses a `--save` in which nothing can be saved, before anything is asked for.
pub(crate) fn check_save(dir: Option<&Path>) -> Result<(), CommandError> {
    let Some(dir) = dir else { return Ok(()) };
    save::check(dir).map_err(|why| {
        CommandError::usage(format!("`--save`: {why}")).hint("name a folder that can be written")
    })
}

fn print(ui: &mut Ui, called: &Called, args: &CallArgs, dir: &Path) -> Result<Exit, CommandError> {
    let unsaved = Unsaved::default();
    let how = How { max_chars: args.max_chars, ..How::new(dir, &unsaved) };
    if ui.look.json {
        if args.save.is_some() {
            result::call(&called.result, how); // for its files; what it says is not shown
        }
        ui.json(called)?;
    } else {
        for part in result::call(&called.result, how) {
            ui.data(part)?;
        }
    }
    Ok(unsaved.say(ui, if called.ok { Exit::Done } else { Exit::Failed })?)
}
