//! `tools` and `list` from what is kept: no process, and nothing of another context.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use herm_testkit::{Sandbox, fake, fake_log, wait_until};
use serde_json::{Value, json};

use crate::client::{Client, SOON};
use crate::control::{document, run};
use crate::serve::entry;

/// Two scripted servers, `a` and `b`, each with the log of its starts.
pub(crate) struct Home {
    pub(crate) sandbox: Sandbox,
}

impl Home {
    pub(crate) fn new(more: &str) -> Self {
        let home = Self { sandbox: Sandbox::new() };
        home.configure(&["a", "b"], more);
        home
    }

    fn log(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(format!("{name}.log"))
    }

    pub(crate) fn configure(&self, names: &[&str], more: &str) {
        let entries = names.iter().map(|name| entry(name, &fake("good", &self.log(name)), more));
        self.sandbox.config(&format!("mcp_servers:\n{}", entries.collect::<String>()));
    }

    /// How often each was started.
    pub(crate) fn starts(&self) -> (usize, usize) {
        (fake_log::spawns(&self.log("a")), fake_log::spawns(&self.log("b")))
    }

    /// The files of lists.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.sandbox.home().join("catalog")).into_iter().flatten();
        let files = found.map(|file| file.unwrap().path());
        let mut lists: Vec<PathBuf> = files.filter(|file| is_list(file)).collect();
        lists.sort();
        lists
    }
}

fn is_list(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "jsonl") && !file.ends_with("index.jsonl")
}

/// Times and what hangs on them as one word each.
fn steady(mut document: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if key == "listed_at" && value.is_string() {
                        *value = json!("TIME");
                    } else if matches!(key.as_str(), "fingerprint" | "file" | "target")
                        && value.is_string()
                    {
                        *value = json!("X");
                    } else if key == "bytes" && value.is_u64() {
                        *value = json!(0);
                    } else {
                        walk(value);
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut document);
    document
}

pub(crate) fn freshness(document: &Value) -> Vec<(String, String)> {
    let servers = document["servers"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    servers.map(|server| (text(&server["name"]), text(&server["freshness"]))).collect()
}

pub(crate) fn each(a: &str, b: &str) -> Vec<(String, String)> {
    vec![("a".to_owned(), a.to_owned()), ("b".to_owned(), b.to_owned())]
}

#[test]
fn what_was_listed_once_is_shown_without_a_process_until_it_is_asked_live() {
    let home = Home::new("");
    let (first, code) = document(&home.sandbox, &["tools", "a"]);
    assert_eq!((code, home.starts()), (Some(0), (1, 0)), "{first}");
    assert_eq!(first["servers"][0]["freshness"], "live");

    // One is known and one is not.
    let (both, code) = document(&home.sandbox, &["tools"]);
    assert_eq!((code, home.starts()), (Some(0), (1, 1)), "{both}");
    assert_eq!(freshness(&both), each("cached", "live"));
    let servers: Vec<&str> =
        both["tools"].as_array().unwrap().iter().map(|t| t["server"].as_str().unwrap()).collect();
    assert!(servers.contains(&"b") && servers.is_sorted(), "{servers:?}");

    // Both are, and the answer is the same but for its age.
    let (kept, code) = document(&home.sandbox, &["tools", "--schema"]);
    assert_eq!((code, home.starts()), (Some(0), (1, 1)), "{kept}");
    assert_eq!(freshness(&kept), each("cached", "cached"));
    let (live, _) = document(&home.sandbox, &["tools", "--schema", "--live"]);
    assert_eq!(home.starts(), (2, 2));
    assert_eq!(freshness(&live), each("live", "live"));
    let without_age =
        |document: &Value| steady(document.clone()).to_string().replace("\"cached\"", "\"live\"");
    assert_eq!(without_age(&kept), without_age(&live));
    for tool in kept["tools"].as_array().unwrap() {
        assert_eq!(tool["freshness"], "cached");
        assert!(tool["listed_at"].as_str().unwrap().ends_with('Z'), "{tool}");
    }
    let (said, err, code) = run(&home.sandbox, &["tools", "b"]);
    let head = said.lines().next().unwrap();
    assert!(head.starts_with("b: 1 tools (cached, ") && head.ends_with(" s old)"), "{said}");
    assert_eq!((err.as_str(), code, home.starts()), ("", Some(0), (2, 2)));
}

#[test]
fn the_documents_have_their_shape() {
    let home = Home::new("");
    home.configure(&["a"], "");
    run(&home.sandbox, &["tools"]);
    let shown = |words: &[&str]| {
        let (document, code) = document(&home.sandbox, words);
        assert_eq!(code, Some(0), "{document}");
        steady(document).to_string()
    };
    insta::assert_snapshot!(shown(&["tools"]), @r#"{"v":1,"tools":[{"name":"mcp__a__echo","server":"a","tool":"echo","title":null,"description":null,"freshness":"cached","listed_at":"TIME","definition":null}],"hidden":[],"servers":[{"name":"a","ok":true,"error":null,"freshness":"cached","listed_at":"TIME"}]}"#);
    insta::assert_snapshot!(shown(&["list"]), @r#"{"v":1,"servers":[{"name":"a","enabled":true,"transport":"stdio","target":"X","state":"idle","reason":null,"tools":1,"freshness":"cached","known":1,"listed_at":"TIME","fingerprint":"X"}]}"#);
    insta::assert_snapshot!(shown(&["cache", "list"]), @r#"{"v":1,"servers":[{"name":"a","configured":true,"fingerprint":"X","tools":1,"era":"handshake","protocol":"2025-11-25","generation":1,"listed_at":"TIME","file":"X","bytes":0}]}"#);
    insta::assert_snapshot!(shown(&["cache", "clear", "a"]), @r#"{"v":1,"ok":true,"servers":["a"],"files":[{"file":"X","bytes":0}]}"#);
    insta::assert_snapshot!(shown(&["cache", "list"]), @r#"{"v":1,"servers":[]}"#);
    insta::assert_snapshot!(shown(&["list"]), @r#"{"v":1,"servers":[{"name":"a","enabled":true,"transport":"stdio","target":"X","state":"idle","reason":null,"tools":null,"freshness":null,"known":null,"listed_at":null,"fingerprint":"X"}]}"#);
}

/// With the token of one tenant, the list of another was shown.
#[test]
fn another_value_of_a_variable_is_not_shown_the_old_list() {
    let home = Home::new(", env: {TOKEN: '${MY_TOKEN}'}");
    home.configure(&["a"], ", env: {TOKEN: '${MY_TOKEN}'}");
    for (token, starts) in [("one", 1), ("one", 1), ("two", 2), ("one", 2), ("two", 2)] {
        home.sandbox.write("herm/.env", format!("MY_TOKEN={token}\n"));
        let (_, code) = document(&home.sandbox, &["tools"]);
        assert_eq!((code, home.starts().0), (Some(0), starts), "{token}");
    }
    home.sandbox.write("herm/.env", "MY_TOKEN=three\n");
    let (list, _) = document(&home.sandbox, &["list"]);
    assert_eq!(list["servers"][0]["tools"], Value::Null, "{list}");
}

#[test]
fn a_running_host_is_asked_for_nothing_that_is_kept() {
    let home = Home::new("");
    let mut command = home.sandbox.herm();
    command.arg("serve");
    let mut client = Client::open(command);
    client.tools(&["mcp__a__echo", "mcp__b__echo"]);
    let (tools, _) = document(&home.sandbox, &["tools"]);
    assert_eq!(freshness(&tools), each("cached", "cached"));
    let (tools, _) = document(&home.sandbox, &["tools", "--live"]);
    assert_eq!(freshness(&tools), each("live", "live"));
    assert_eq!(home.starts(), (1, 1));
    let (status, _) = document(&home.sandbox, &["status"]);
    let (list, _) = document(&home.sandbox, &["list"]);
    let (shown, _) = document(&home.sandbox, &["show", "a"]);
    let fingerprint = &shown["server"]["fingerprint"];
    assert_eq!(fingerprint.as_str().unwrap().len(), 16);
    assert_eq!(status["hosts"][0]["servers"][0]["fingerprint"], *fingerprint);
    assert_eq!(status["configured"][0]["fingerprint"], *fingerprint);
    assert_eq!(list["servers"][0]["fingerprint"], *fingerprint);
    assert_eq!(client.close().0.code(), Some(0));
}

#[test]
fn a_server_that_was_given_up_is_listed_as_parked() {
    let sandbox = Sandbox::new();
    let (log, program) = (sandbox.root().join("log"), sandbox.root().join("server"));
    let install = |text: String| {
        sandbox.write("server", text);
        fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
    };
    install(format!("#!/bin/sh\nexec '{}'\n", fake("good", &log).join("' '")));
    let more = ", supervision: {park_after: 1}";
    sandbox
        .config(&format!("mcp_servers:\n{}", entry("s", &[program.display().to_string()], more)));
    assert_eq!(document(&sandbox, &["tools"]).1, Some(0));
    install("#!/bin/sh\nexit 3\n".to_owned());
    assert_eq!(document(&sandbox, &["tools", "--live"]).1, Some(7));
    let (tools, code) = document(&sandbox, &["tools"]);
    assert_eq!((&tools["tools"][0]["freshness"], code), (&json!("parked"), Some(0)), "{tools}");
    let (list, _) = document(&sandbox, &["list"]);
    assert_eq!(list["servers"][0]["freshness"], "parked", "{list}");
    let (said, _, _) = run(&sandbox, &["list"]);
    assert!(said.contains("1 (parked, "), "{said}");
}

#[test]
fn a_damaged_list_is_said_and_its_server_connected() {
    let home = Home::new("");
    document(&home.sandbox, &["tools", "a"]);
    let file = home.files().remove(0);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("echo", "ecko")).unwrap();
    let (said, err, code) = run(&home.sandbox, &["tools", "a"]);
    assert_eq!((code, home.starts().0), (Some(0), 2), "{err}");
    assert!(said.contains("a: 1 tools (live)") && said.contains("mcp__a__echo"), "{said}");
    let why = "warning: MCP server 'a': the kept list";
    assert!(err.starts_with(why) && err.contains("it was cut or changed"), "{err}");
    let (_, err, _) = run(&home.sandbox, &["tools", "a"]);
    assert_eq!((err.as_str(), home.starts().0), ("", 2), "it is said once");
}

/// It was in the log only, where nobody looked.
#[test]
fn lists_that_cannot_be_kept_are_said_in_the_status_until_they_are() {
    let home = Home::new("");
    // No folder can be made where a file is.
    let folder = home.sandbox.write("herm/catalog", "");
    let (said, err, code) = run(&home.sandbox, &["tools", "a"]);
    assert!(said.starts_with("a: 1 tools (live)") && code == Some(0), "{said}{err}");
    assert!(err.starts_with("warning: MCP server 'a': its lists could not be kept: "), "{err}");
    let mut command = home.sandbox.herm();
    command.arg("serve");
    let mut client = Client::open(command);
    client.tools(&["mcp__a__echo"]);
    let state = || document(&home.sandbox, &["status", "a"]).0["hosts"][0]["servers"][0].clone();
    let why =
        wait_until(SOON, "it is said", || state()["catalog_error"].as_str().map(str::to_owned));
    assert!(why.contains("could not be kept"), "{why}");
    let (said, _, _) = run(&home.sandbox, &["status"]);
    assert!(said.contains("not kept: its lists could not be kept"), "{said}");
    fs::remove_file(folder).unwrap();
    assert_eq!(run(&home.sandbox, &["restart", "a"]).2, Some(0));
    assert_eq!(state()["catalog_error"], Value::Null);
    assert_eq!(client.close().0.code(), Some(0));
}
