//! The command line.

use crate::Fallible;

pub(crate) const USAGE: &str = "usage: herm-bench calls|flight|list|memory|start [-n N] \
     [--in-flight K] [--servers K] [--threads] (--url URL | -- COMMAND...)";

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// Which figures.
    pub(crate) case: String,
    /// How many times.
    pub(crate) n: usize,
    /// Calls that are open at once.
    pub(crate) in_flight: usize,
    /// How many servers, all the same.
    pub(crate) servers: usize,
    /// The runtime has a thread for each CPU.
    pub(crate) threads: bool,
    /// Where the server is; else `command` starts it.
    pub(crate) url: Option<String>,
    /// The server, or the program whose start is timed.
    pub(crate) command: Vec<String>,
}

impl Options {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Fallible<Self> {
        let mut options = Self {
            case: arguments.next().ok_or(USAGE)?,
            n: 20_000,
            in_flight: 64,
            servers: 50,
            threads: false,
            url: None,
            command: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(USAGE);
            match argument.as_str() {
                "-n" => options.n = value()?.parse()?,
                "--in-flight" => options.in_flight = value()?.parse()?,
                "--servers" => options.servers = value()?.parse()?,
                "--threads" => options.threads = true,
                "--url" => options.url = Some(value()?),
                "--" => options.command = arguments.by_ref().collect(),
                _ => return Err(USAGE.into()),
            }
        }
        if options.url.is_none() && options.command.is_empty() {
            return Err(USAGE.into());
        }
        Ok(options)
    }
}
