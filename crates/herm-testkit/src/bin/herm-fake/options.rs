//! The command line, and what a process is born with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) script: String,
    pub(crate) log: Option<PathBuf>,
    pub(crate) http: Option<u16>,
    set: BTreeMap<String, String>,
}

impl Options {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let script = arguments.next().ok_or("which script? `--list` prints them")?;
        let log = std::env::var_os("HERM_FAKE_LOG").map(PathBuf::from);
        let mut options = Self { script, log, ..Self::default() };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            match name.as_str() {
                "--log" => options.log = Some(value.into()),
                "--marker" => {}
                "--http" => {
                    let port = value.parse().map_err(|_| format!("`{value}` is no port"))?;
                    options.http = Some(port);
                }
                "--set" => {
                    let pair = value.split_once('=').ok_or("`--set` takes NAME=VALUE")?;
                    options.set.insert(pair.0.to_owned(), pair.1.to_owned());
                }
                _ => return Err(format!("unknown option `{name}`")),
            }
        }
        Ok(options)
    }

    /// The value of `--set NAME=VALUE`.
    pub(crate) fn get<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.set.get(name).map_or(default, String::as_str)
    }
}

/// What a case wants to know about a new process.
pub(crate) fn birth() -> Value {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()))
        .collect();
    json!({
        "parent": std::os::unix::process::parent_id(),
        "group": rustix::process::getpgrp().as_raw_nonzero().get(),
        "arguments": std::env::args().collect::<Vec<_>>(),
        "environment": environment,
        "directory": std::env::current_dir().unwrap_or_default(),
    })
}
