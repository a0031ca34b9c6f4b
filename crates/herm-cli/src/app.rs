//! The command line: options, commands, and the way from one to the other.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::command_error::{CommandError, Exit, Kind};
use crate::settings::{self, Settings};
use crate::ui::{Look, Ui, Words};
use crate::{commands, demo_server};

/// Connect to MCP servers, list what they offer, call it
#[derive(Debug, Parser)]
#[command(name = "herm", version, max_term_width = 100, subcommand_required = true)]
struct App {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Top,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each one is a switch of the command line")]
#[command(next_help_heading = "Global options")]
pub(crate) struct Options {
    /// Use this configuration file, and the .env file beside it
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Use the home `profiles/NAME`
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Print one JSON document to standard output
    #[arg(long, global = true)]
    json: bool,
    /// Print data, warnings and errors only
    #[arg(long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more of what is going on
    #[arg(long, global = true)]
    verbose: bool,
    /// Print without colours (also: `NO_COLOR`)
    #[arg(long, global = true)]
    no_color: bool,
    /// Never ask anything
    #[arg(long, global = true)]
    no_input: bool,
    /// Start and contact nothing (also: `HERM_SAFE_MODE`)
    #[arg(long, global = true)]
    pub(crate) safe_mode: bool,
}

impl Options {
    fn look(&self) -> Look {
        let words = match (self.quiet, self.verbose) {
            (true, _) => Words::Few,
            (false, true) => Words::All,
            (false, false) => Words::Some,
        };
        Look::detect(self.json, words, self.no_color, self.no_input)
    }
}

#[derive(Debug, Subcommand)]
enum Top {
    #[command(flatten)]
    Plain(Command),
    Serve(commands::serve::ServeArgs),
    /// Every command again, so that `hermes mcp list` and its kin carry over
    Mcp {
        #[command(subcommand)]
        command: Mcp,
    },
    /// The MCP server that `herm demo` talks to
    #[command(hide = true)]
    DemoServer,
}

#[derive(Debug, Subcommand)]
enum Mcp {
    #[command(flatten)]
    Plain(Command),
    /// Reserved for the messaging bridge
    #[command(hide = true)]
    Serve {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        rest: Vec<OsString>,
    },
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(visible_alias = "ls")]
    List(commands::list::ListArgs),
    Show(commands::show::ShowArgs),
    Check(commands::check::CheckArgs),
    Test(commands::test::TestArgs),
    Tools(commands::tools::ToolsArgs),
    Call(commands::call::CallArgs),
    Resources(commands::resources::ResourcesArgs),
    Read(commands::read::ReadArgs),
    Prompts(commands::prompts::PromptsArgs),
    Prompt(commands::prompt::PromptArgs),
    Cache(commands::cache::CacheArgs),
    Status(commands::status::StatusArgs),
    Logs(commands::logs::LogsArgs),
    Reload(commands::reload::ReloadArgs),
    Restart(commands::restart::RestartArgs),
    Stop(commands::stop::StopArgs),
    Demo(commands::demo::DemoArgs),
    Completions(commands::completions::CompletionsArgs),
}

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) options: Options,
    pub(crate) ui: Ui,
}

impl Context {
    /// The configuration in use.
    pub(crate) fn settings(&mut self) -> Result<Settings, CommandError> {
        let settings = settings::load(&self.options)?;
        for warning in &settings.warnings {
            if settings.no_secrets.as_ref() == Some(&warning.message) {
                continue; // said below
            }
            self.ui.detail(format_args!("warning: {warning}"))?;
        }
        if let Some(why) = &settings.no_secrets {
            // Not a detail: whatever fails for want of a variable fails because of this.
            self.ui.warn(why)?;
        }
        let Some(first) = settings.errors.first() else {
            if let Some(file) = settings.file.as_ref().filter(|_| settings.entries.is_empty()) {
                self.ui.note(format_args!("`{}` configures no servers", file.display()))?;
            }
            return Ok(settings);
        };
        if settings.unreadable || settings.entries.is_empty() {
            return Err(CommandError::new(Kind::Config, first.to_string())
                .hint("`herm check` shows every error with its line"));
        }
        // As many as `herm check` shows.
        let count = match settings.errors.len() + settings.unresolved(true).len() {
            1 => "1 error".to_owned(),
            n => format!("{n} errors"),
        };
        self.ui.warn(format_args!("the configuration has {count}: `herm check` shows each"))?;
        Ok(settings)
    }
}

/// Runs the command line of this process.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    let json = words.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let app = match App::try_parse_from(words) {
        Ok(app) => app,
        Err(error) => return not_parsed(&error, json),
    };
    if matches!(app.command, Top::DemoServer) {
        return demo_server::run();
    }
    let look = app.options.look();
    let mut context = Context { options: app.options, ui: Ui::new(look) };
    let ended = perform(&app.command, &mut context)
        .and_then(|exit| context.ui.flush().map(|()| exit).map_err(CommandError::from));
    match ended {
        Ok(exit) => exit.code(),
        Err(error) => error.report(&mut context.ui),
    }
}

fn perform(command: &Top, context: &mut Context) -> Result<Exit, CommandError> {
    let command = match command {
        Top::Serve(args) => return on_runtime(commands::serve::run(args, context)),
        Top::Plain(command) | Top::Mcp { command: Mcp::Plain(command) } => command,
        Top::Mcp { command: Mcp::Serve { rest: _ } } => return Err(reserved()),
        Top::DemoServer => return Ok(Exit::Done), // never comes here: it has no use for any of this
    };
    on_runtime(dispatch(command, context))
}

/// Threads that may wait for a file: one each that reads standard input, writes standard output, the journal,
/// what a start waits for and all else that is kept, and one for what lasts no time. More would only be made
/// because one that has just finished is not idle yet, and each keeps memory of its own.
const BLOCKING: usize = 6;

fn on_runtime(
    command: impl Future<Output = Result<Exit, CommandError>>,
) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING)
        .build()
        .map_err(|e| CommandError::new(Kind::Internal, format!("no runtime: {e}")))?;
    let ended = runtime.block_on(Box::pin(command));
    runtime.shutdown_background(); // a question may still be waiting for an answer on a terminal
    ended
}

async fn dispatch(command: &Command, context: &mut Context) -> Result<Exit, CommandError> {
    match command {
        Command::List(args) => commands::list::run(args, context),
        Command::Show(args) => commands::show::run(args, context),
        Command::Check(args) => commands::check::run(args, context),
        Command::Test(args) => commands::test::run(args, context).await,
        Command::Tools(args) => commands::tools::run(args, context).await,
        Command::Call(args) => commands::call::run(args, context).await,
        Command::Resources(args) => commands::resources::run(args, context).await,
        Command::Read(args) => commands::read::run(args, context).await,
        Command::Prompts(args) => commands::prompts::run(args, context).await,
        Command::Prompt(args) => commands::prompt::run(args, context).await,
        Command::Cache(args) => commands::cache::run(args, context),
        Command::Status(args) => commands::status::run(args, context).await,
        Command::Logs(args) => commands::logs::run(args, context).await,
        Command::Reload(args) => commands::reload::run(args, context).await,
        Command::Restart(args) => commands::restart::run(args, context).await,
        Command::Stop(args) => commands::stop::run(args, context).await,
        Command::Demo(args) => commands::demo::run(args, context).await,
        Command::Completions(args) => commands::completions::run(args, context),
    }
}

/// The command line as clap knows it, for completions.
pub(crate) fn command_line() -> clap::Command {
    <App as clap::CommandFactory>::command()
}

fn reserved() -> CommandError {
    CommandError::usage(
        "`herm mcp serve` is reserved for the messaging bridge, which is not built yet",
    )
    .hint("the server that offers the tools of all your servers is `herm serve`")
}

/// Help and version go out as they are; anything else is a usage error.
fn not_parsed(error: &clap::Error, json: bool) -> ExitCode {
    if !json || !error.use_stderr() {
        drop(error.print()); // a stream that is gone cannot be told about
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    let text = error.to_string();
    let text = text.trim().trim_start_matches("error: ");
    let (sentence, rest) = text.split_once('\n').unwrap_or((text, ""));
    let failure = CommandError::usage(sentence.trim());
    let failure = match rest.trim() {
        "" => failure,
        rest => failure.hint(rest.split_whitespace().collect::<Vec<_>>().join(" ")),
    };
    failure.report(&mut Ui::new(Look::detect(true, Words::Some, true, true)))
}
