//! What is kept on disk: small JSON files, replaced whole, written by one process at a time.

pub(crate) mod atomic;
pub(crate) mod catalogs;
pub(crate) mod ledgers;
pub(crate) mod names;
pub(crate) mod verdicts;
