//! Child processes: started in one function, ended as a tree.

use herm_core::config::StdioTarget;
use std::collections::BTreeMap;

/// Everything that starts one child. Made by the screen and env gates only.
#[derive(Debug)]
pub(crate) struct SpawnPlan {
    /// What to start.
    pub(crate) target: StdioTarget,
    /// The whole environment of the child, PATH among it.
    pub(crate) environment: BTreeMap<String, herm_core::secret::Secret>,
    /// Our home folder, for `~`-less lookups such as `<home>/node/bin`.
    pub(crate) home: Option<std::path::PathBuf>,
}
