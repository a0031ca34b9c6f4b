//! Names that were published stay until their entry is removed from the configuration.

use std::collections::BTreeSet;

use herm_testkit::{Sandbox, fake};
use serde_json::{Value, json};

struct Home {
    sandbox: Sandbox,
}

impl Home {
    fn entries(&self, servers: &[&str]) -> String {
        let log = self.sandbox.root().join("log");
        let command = fake("good", &log);
        let entry = json!({"command": command[0], "args": command[1..]});
        let line = |name: &&str| format!("  {name}: {entry}\n");
        format!("mcp_servers:\n{}", servers.iter().map(line).collect::<String>())
    }

    fn configure(&self, servers: &[&str]) {
        self.sandbox.config(&self.entries(servers));
    }

    /// Runs `herm`; the servers whose names are kept afterwards.
    fn run(&self, words: &[&str], code: i32) -> BTreeSet<String> {
        let output = self.sandbox.herm().args(words).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {shown}");
        let text = std::fs::read_to_string(self.sandbox.home().join("names.json")).unwrap();
        let kept: Value = serde_json::from_str(&text).unwrap();
        kept["servers"].as_object().unwrap().keys().cloned().collect()
    }
}

fn set(servers: &[&str]) -> BTreeSet<String> {
    servers.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn names_go_with_their_entry_and_with_nothing_else() {
    let home = Home { sandbox: Sandbox::new() };
    home.configure(&["a", "b", "c"]);
    assert_eq!(home.run(&["tools"], 0), set(&["a", "b", "c"]));

    // Removed: its names go, even if only another server is asked for.
    home.configure(&["b", "c"]);
    assert_eq!(home.run(&["call", "b.echo", "s=x"], 0), set(&["b", "c"]));

    // Another file has the same state. It says nothing of the main file's servers, nor that of its.
    let other = home.sandbox.write("other.yaml", home.entries(&["d"]));
    let other = other.to_str().unwrap();
    assert_eq!(home.run(&["--config", other, "tools"], 0), set(&["b", "c", "d"]));
    assert_eq!(home.run(&["tools"], 0), set(&["b", "c", "d"]));

    // A faulty, a disabled and a misspelled entry are none that was removed.
    let broken = home.entries(&["b"]).replace("\"command\"", "\"comand\"");
    home.sandbox.config(
        &broken.replace("mcp_servers:\n", "mcp_servers:\n  c: {command: x, enabled: false}\n"),
    );
    assert_eq!(home.run(&["tools", "b"], 4), set(&["b", "c", "d"]));
    home.sandbox.config("mcp_sevrers:\n  b: {command: x}\n");
    let output = home.sandbox.herm().args(["tools"]).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    home.configure(&["c"]);
    assert_eq!(home.run(&["tools"], 0), set(&["c", "d"]));
}
