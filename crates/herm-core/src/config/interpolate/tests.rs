use std::collections::HashMap;

use super::*;
use crate::config::{Configured, check};

fn server(yaml: &str) -> Server {
    let text = format!("mcp_servers:\n  s:\n{yaml}");
    let checked = check(text.as_bytes(), "config.yaml");
    match checked.config.servers.into_iter().next() {
        Some(Configured::Ready(server)) => *server,
        other => panic!("{other:?}, {:?}", checked.errors),
    }
}

fn resolve(yaml: &str, set: &[(&str, &str)]) -> Result<Target, Vec<Issue>> {
    let set: HashMap<_, _> = set.iter().copied().collect();
    let places = Places { home: Some("/home/me".into()), workspace: Some("/src/thing".into()) };
    server(yaml).resolve(&|name| set.get(name).map(|value| (*value).to_owned()), &places)
}

fn stdio(yaml: &str, set: &[(&str, &str)]) -> StdioTarget {
    match resolve(yaml, set) {
        Ok(Target::Stdio(target)) => target,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unset_variable_is_refused_wherever_it_stands() {
    let stdio = "    command: x\n    args: ['${A}']\n    env: {E: '${B}'}\n    cwd: ${C}\n";
    let http = "    url: https://${D}/\n    headers:\n      Authorization: Bearer ${E}\n";
    let mut found = Vec::new();
    for yaml in [stdio, http] {
        for issue in resolve(yaml, &[]).unwrap_err() {
            assert_eq!(issue.server.as_deref(), Some("s"));
            assert!(issue.line.is_some(), "{issue:?}");
            found.push((issue.key.unwrap(), issue.message));
        }
    }
    found.sort();
    let expected = [
        ("args[0]", "A"),
        ("cwd", "C"),
        ("env.E", "B"),
        ("headers.Authorization", "E"),
        ("url", "D"),
    ];
    let expected = expected.map(|(k, v)| (k.to_owned(), format!("the variable `{v}` is not set")));
    assert_eq!(found, expected);
}

#[test]
fn every_form_of_a_variable_is_replaced_and_nothing_else() {
    let yaml = "    command: ~/bin/x\n    cwd: '~'\n    args:\n      - '${A}-${env:A}-${ env: A }'\n      - ${N:-fall:-back}\n      \
        - ${EMPTY:-no}|${EMPTY}\n      - ${userHome}${/}${workspaceFolderBasename}${pathSeparator}\n      \
        - ${workspaceFolder}\n      - $A %A% $${A} $$ ~/x `A`\n";
    let target = stdio(yaml, &[("A", "1"), ("EMPTY", "")]);
    assert_eq!(target.command, "/home/me/bin/x");
    assert_eq!(target.cwd.as_deref(), Some("/home/me"));
    let expected =
        ["1-1-1", "fall:-back", "|", "/home/me/thing/", "/src/thing", "$A %A% ${A} $$ ~/x `A`"];
    assert_eq!(target.args, expected);
}

#[test]
fn a_value_with_a_variable_in_it_is_not_replaced_again() {
    assert_eq!(stdio("    command: x\n    args: ['${A}']\n", &[("A", "${B}")]).args, ["${B}"]);
}

#[test]
fn an_address_is_checked_after_its_variables_are_known() {
    for (value, word) in [("ftp://h", "http://"), ("nonsense", "URL"), ("http://", "URL")] {
        let issues = resolve("    url: ${U}\n", &[("U", value)]).unwrap_err();
        assert!(issues[0].message.contains(word), "{issues:?}");
        assert!(!format!("{issues:?}").contains("nonsense"));
    }
    assert!(resolve("    url: ${U}\n", &[("U", "https://h/mcp")]).is_ok());
    let broken = [("H", "a\nX-Evil: 1")];
    assert!(resolve("    url: https://h\n    headers: {A: '${H}'}\n", &broken).is_err());
    assert!(resolve("    url: 'https://h/${U'\n", &[]).unwrap_err()[0].message.contains("closed"));
}

#[test]
fn secrets_do_not_print() {
    let yaml = "    command: x\n    args: ['${A}']\n    env: {T: abc-literal}\n";
    let target = stdio(yaml, &[("A", "hunter2")]);
    let shown = format!("{target:?} {:?}", server(yaml));
    assert!(!shown.contains("hunter2") && !shown.contains("abc-literal"), "{shown}");
    assert_eq!(Template("Bearer ${T:-x} $${".into()).hidden(), "[REDACTED]${T}[REDACTED]");
}
