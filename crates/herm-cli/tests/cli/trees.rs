//! Trees of processes that do not end by themselves, and `herm` run over them.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use herm_testkit::{Sandbox, binary, processes_with, wait_until};

/// For what another process does soon, on a machine that has other things to do.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A home with one server, `t`, whose every process has the home's path in its arguments.
pub(crate) struct Tree {
    pub(crate) sandbox: Sandbox,
}

impl Tree {
    /// The shell script below.
    pub(crate) fn shell(script: &str, keys: &str) -> Self {
        let sandbox = Sandbox::new();
        let text = self::script(script, &marker(&sandbox));
        let file = sandbox.write("tree.sh", text);
        let file = file.display();
        sandbox.config(&config(&format!("command: sh\n    args: ['{file}']"), keys));
        Self { sandbox }
    }

    /// A Node program that starts the same three, as `npx` would.
    pub(crate) fn node(script: &str, keys: &str) -> Self {
        let sandbox = Sandbox::new();
        let text = format!(
            "const {{ spawn }} = require('child_process');\n\
             process.on('SIGTERM', () => {{}});\n\
             for (const script of ['b01-leaf', 'b01-away', '{script}'])\n\
             spawn('{}', [script, '--marker', '{}'], {{ stdio: 'inherit' }});\n",
            fake(),
            marker(&sandbox)
        );
        let file = sandbox.write("tree.js", text);
        let file = file.display();
        sandbox.config(&config(&format!("command: node\n    args: ['{file}']"), keys));
        Self { sandbox }
    }

    /// What every process of the tree has in its arguments.
    pub(crate) fn marker(&self) -> String {
        marker(&self.sandbox)
    }

    pub(crate) fn living(&self) -> Vec<u32> {
        processes_with(&self.marker())
    }

    /// `herm` with these words, its output piped.
    pub(crate) fn herm(&self, words: &[&str]) -> Child {
        herm(&self.sandbox, words)
    }

    /// Waits until all four processes of the tree run.
    pub(crate) fn grown(&self) {
        wait_until(SOON, "the tree has grown", || (self.living().len() >= 4).then_some(()));
    }
}

impl Drop for Tree {
    /// A test that failed leaves nothing either.
    fn drop(&mut self) {
        for pid in self.living() {
            signal("-KILL", pid);
        }
    }
}

/// What every process of a tree has in its arguments. A test that failed leaves nothing either.
pub(crate) struct Left(pub(crate) String);

impl Drop for Left {
    fn drop(&mut self) {
        for pid in processes_with(&self.0) {
            signal("-KILL", pid);
        }
    }
}

/// A shell script that starts a leaf, a leaf in a session of its own, and `server` of the fake in the
/// foreground, all with its own streams, and with the marker among their arguments.
pub(crate) fn script(server: &str, marker: &str) -> String {
    let fake = |script| format!("'{}' {script} --marker '{marker}'", fake());
    let (leaf, away, server) = (fake("b01-leaf"), fake("b01-away"), fake(server));
    format!("exec 3<&0\n{leaf} <&3 &\n{away} <&3 &\n{server} <&3\nwait\n")
}

pub(crate) fn herm(sandbox: &Sandbox, words: &[&str]) -> Child {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_herm"));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// A configuration with the server `t` and these keys of it, each on a line with four blanks.
pub(crate) fn config(start: &str, keys: &str) -> String {
    format!("mcp_servers:\n  t:\n    {start}\n{keys}")
}

#[expect(clippy::disallowed_methods, reason = "a tool of the test, not a server")]
pub(crate) fn signal(signal: &str, pid: u32) {
    // It may have ended by itself.
    drop(Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status());
}

/// The child processes of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()
        })
        .collect()
}

/// The letter of a process's state; none if there is no such process.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// The name of a process.
pub(crate) fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

fn marker(sandbox: &Sandbox) -> String {
    sandbox.root().display().to_string()
}

fn fake() -> String {
    let path: PathBuf = binary("herm-fake");
    path.display().to_string()
}
