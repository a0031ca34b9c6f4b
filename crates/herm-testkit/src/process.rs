//! What is running: the process table, read without helper programs.

use std::fs;

/// Ids of the living processes that have `marker` in one of their arguments, this one excepted.
/// Zombies are left out: they have no arguments. Empty where there is no `/proc`.
#[must_use]
pub fn processes_with(marker: &str) -> Vec<u32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && has_argument(*pid, marker))
        .collect();
    found.sort_unstable();
    found
}

fn has_argument(pid: u32, marker: &str) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|arg| String::from_utf8_lossy(arg).contains(marker))
}

#[cfg(test)]
mod tests {
    use super::processes_with;

    #[test]
    fn own_process_is_never_counted() {
        let own = std::env::args().next().expect("a test has a name");
        let found = processes_with(&own);
        assert!(!found.contains(&std::process::id()), "{found:?}");
    }
}
