//! A person at a real terminal is asked what a server wants to know.

use herm_testkit::real::{self, Python};
use herm_testkit::{Sandbox, binary, fake};
use serde_json::{Value, json};

/// Runs a command with standard input and standard error on a terminal of its own, and types each
/// answer once its question is shown. Prints what was shown, standard output, and the status.
const DRIVER: &str = r#"
import json, os, pty, select, subprocess, sys, threading, time

steps, command = json.loads(sys.argv[1]), sys.argv[2:]
ours, theirs = pty.openpty()
child = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE)
os.close(theirs)
printed = []
reader = threading.Thread(target=lambda: printed.append(child.stdout.read()))
reader.start()
until, shown, seen = time.monotonic() + 30, "", 0
while time.monotonic() < until:
    if not select.select([ours], [], [], 0.1)[0]:
        continue
    try:
        shown += os.read(ours, 4096).decode()
    except OSError:
        break
    if steps and steps[0][0] in shown[seen:]:
        seen = len(shown)
        os.write(ours, steps.pop(0)[1].encode())
else:
    child.kill()
code = child.wait()
reader.join()
print(json.dumps({"shown": shown, "stdout": printed[0].decode(), "code": code, "left": steps}))
"#;

fn typed(sandbox: &Sandbox, steps: &Value, words: &[&str]) -> Value {
    let mut driver = sandbox.command(real::python(Python::Mcp1).remove(0));
    driver.args(["-c", DRIVER, &steps.to_string()]).arg(binary("herm")).args(words);
    let output = driver.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr);
    let run: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {shown}"));
    assert_eq!(run["left"], json!([]), "a question never came: {run:#}");
    run
}

#[test]
fn a_form_on_a_terminal_is_asked_for_and_its_answer_is_the_servers() {
    let sandbox = Sandbox::new();
    let command = fake("ask", &sandbox.root().join("log"));
    let entry = json!({"command": command[0], "args": command[1..]});
    sandbox.config(&format!("mcp_servers:\n  shop: {entry}\n"));
    for (steps, answer) in [
        (
            json!([["Answer it?", "y\n"], ["name", "Grace\n"], ["Send these answers?", "y\n"]]),
            json!({"action": "accept", "content": {"name": "Grace"}}),
        ),
        (json!([["Answer it?", "no\n"]]), json!({"action": "decline"})),
        // The end of input, as Ctrl-D gives it.
        (json!([["Answer it?", "y\n"], ["name", "\u{4}"]]), json!({"action": "cancel"})),
    ] {
        let run = typed(&sandbox, &steps, &["call", "shop.ask"]);
        assert_eq!(run["code"], 0, "{run:#}");
        let shown = run["shown"].as_str().unwrap();
        assert!(
            shown.contains("MCP server `shop` asks:") && shown.contains("Your name?"),
            "{shown}"
        );
        // Standard output has the result and nothing of the questions.
        let told: Value = serde_json::from_str(run["stdout"].as_str().unwrap()).unwrap();
        assert_eq!(told, answer, "{run:#}");
    }
    let run = typed(&sandbox, &json!([]), &["--no-input", "call", "shop.ask"]);
    assert!(run["stdout"].as_str().unwrap().starts_with("not asked"), "{run:#}");
}
