//! The commands, one file each. The comment above the arguments of a command is its help.

pub(crate) mod cache;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod prompt;
pub(crate) mod prompts;
pub(crate) mod read;
pub(crate) mod reload;
pub(crate) mod resources;
pub(crate) mod restart;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod test;
pub(crate) mod tools;
