//! How a server lives under `herm`: nothing between them, no zombies, and starts that fail tell why.

use std::collections::BTreeSet;
use std::path::Path;

use herm_testkit::{Sandbox, processes_with, wait_until};

use crate::trees::{SOON, children, config, herm, name, signal, state};

/// A home whose server is this shell script; its processes have the home's path in their arguments.
fn shell(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let file = sandbox.write("server.sh", script);
    sandbox.config(&config(&format!("command: sh\n    args: ['{}']", file.display()), ""));
    sandbox
}

/// The pipes among these descriptors of a process, by their inode.
fn pipes(pid: u32, wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries
        .filter(|entry| wanted(&entry.file_name().to_string_lossy()))
        .filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.display().to_string()))
        .filter(|link| link.starts_with("pipe:"))
        .collect()
}

#[test]
fn nothing_stands_between_a_host_and_its_server() {
    let sandbox = shell("exec sleep 1000");
    let herm = herm(&sandbox, &["test"]);
    let server = wait_until(SOON, "the server runs", || {
        children(herm.id()).into_iter().find(|pid| name(*pid) == "sleep")
    });
    let of_server = pipes(server, |_| true);
    assert_eq!(of_server, pipes(server, |fd| ["0", "1", "2"].contains(&fd)), "it inherited more");
    assert_eq!(of_server.len(), 3);
    assert!(of_server.is_subset(&pipes(herm.id(), |_| true)), "the pipes lead elsewhere");
    let everyone = std::fs::read_dir("/proc").unwrap().flatten();
    let others: Vec<u32> = everyone
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| ![herm.id(), server].contains(pid))
        .filter(|pid| !pipes(*pid, |_| true).is_disjoint(&of_server))
        .collect();
    assert_eq!(others, Vec::<u32>::new(), "somebody else holds a pipe of the server");
    signal("-TERM", herm.id());
    herm.wait_with_output().unwrap();
}

#[test]
fn descendants_that_end_leave_no_zombie_under_a_host_that_lives() {
    let sandbox = shell(
        "for n in 1 2 3 4 5; do setsid sh -c 'setsid sleep 0.05 & exit' & done\n\
         sh -c 'sleep 0.05 & exit'\nwait\nsleep 0.2\necho > done\nexec sleep 1000\n",
    );
    let herm = herm(&sandbox, &["test"]);
    let done = sandbox.root().join("done");
    wait_until(SOON, "all of them have ended", || done.exists().then_some(()));
    // Its own two children, and none of the orphans.
    wait_until(SOON, "the orphans are reaped", || {
        let children = children(herm.id());
        let zombies = children.iter().any(|pid| state(*pid) == Some('Z'));
        (children.len() == 2 && !zombies).then_some(())
    });
    signal("-TERM", herm.id());
    herm.wait_with_output().unwrap();
    assert_eq!(processes_with(&sandbox.root().display().to_string()), Vec::<u32>::new());
}

#[test]
fn an_interrupt_of_the_terminal_does_not_reach_the_reaper() {
    let sandbox = shell("exec sleep 1000");
    let mut herm = herm(&sandbox, &["test"]);
    let find = |wanted: &str| children(herm.id()).into_iter().find(|pid| name(*pid) == wanted);
    let reaper = wait_until(SOON, "the reaper runs", || find("mcp-reaper"));
    let server = wait_until(SOON, "the server runs", || find("sleep"));
    for kind in ["-INT", "-TERM", "-HUP", "-QUIT"] {
        signal(kind, reaper);
    }
    assert!(!matches!(state(reaper), None | Some('Z')));
    // And it still does its work.
    herm.kill().unwrap();
    herm.wait().unwrap();
    for pid in [server, reaper] {
        wait_until(SOON, "both are gone", || matches!(state(pid), None | Some('Z')).then_some(()));
    }
}

/// What `herm test` says of a server that is this file, made by `sh` in the home.
fn refusal(made_by: &str, keys: &str) -> String {
    let sandbox = Sandbox::new();
    let mut make = sandbox.command("sh");
    assert!(make.args(["-c", made_by]).status().unwrap().success());
    let file = sandbox.root().join("server");
    sandbox.config(&config(&format!("command: '{}'", file.display()), keys));
    let output = herm(&sandbox, &["test"]).wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    shorten(&String::from_utf8_lossy(&said), sandbox.root())
}

fn shorten(said: &str, root: &Path) -> String {
    said.replace(&root.display().to_string(), "HOME")
}

#[test]
fn a_start_that_fails_in_the_launcher_tells_why() {
    let cases = [
        ("true", "", "`HOME/server` was not found"),
        ("echo '#!/bin/sh' > server", "", "`HOME/server` is not executable"),
        ("echo hello > server; chmod +x server", "", "`HOME/server` is no program"),
        ("echo '#!/no/node -x' > server; chmod +x server", "", "the interpreter `/no/node -x`"),
        (
            "echo '#!/bin/sh' > server; chmod +x server",
            "    cwd: /no/such/folder\n",
            "the working directory `/no/such/folder`",
        ),
    ];
    for (made_by, keys, wanted) in cases {
        let said = refusal(made_by, keys);
        assert!(said.contains(wanted), "{made_by}: {said}");
    }
}
