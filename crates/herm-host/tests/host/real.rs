//! Real servers, from first contact to the last process. `tests/setup` installs them.

use herm_core::config::{HttpKind, Protocol, Server, Transport};
use herm_core::name::ServerName;
use herm_host::{Caller, Host, Kind, Refusal, Setup, State};
use herm_testkit::real::{EverythingHttp, Python};
use herm_testkit::{Sandbox, fake, fake_http, real};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::{call, child, http, limited, result, text};

/// On a busy machine Python and Node take their time.
const LIMIT: u64 = 60;

struct Live {
    host: Host,
    name: ServerName,
}

impl Live {
    async fn connect(server: Server) -> Result<Self, Refusal> {
        let server = limited(server, LIMIT);
        let name = server.name.clone();
        let host = Host::new(Setup::new(vec![server]));
        let connected = host.connect(&[]).await.remove(0).1;
        if let Err(why) = connected {
            host.stop().await;
            return Err(why);
        }
        Ok(Self { host, name })
    }

    async fn call(&self, tool: &str, arguments: &str) -> Value {
        let result = result(self.host.call(call(&self.name, tool, arguments)).await);
        let result = result.unwrap_or_else(|why| panic!("{} {tool}: {why}", self.name));
        serde_json::from_str(&result).unwrap()
    }

    /// The first block's text.
    async fn says(&self, tool: &str, arguments: &str) -> String {
        text(&self.call(tool, arguments).await.to_string())
    }

    async fn read(&self, uri: &str) -> String {
        let read = self.host.read(Caller::default(), None, uri).await;
        let (server, raw) = read.unwrap_or_else(|why| panic!("{} {uri}: {why}", self.name));
        assert_eq!(server, self.name);
        raw.get().to_owned()
    }

    async fn prompt(&self, name: &str, arguments: &str) -> String {
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let prompt = self.host.prompt(Caller::default(), &self.name, name, Some(arguments)).await;
        prompt.unwrap_or_else(|why| panic!("{} {name}: {why}", self.name)).get().to_owned()
    }

    /// Stops, and sees that the child is gone.
    async fn stop(self) {
        let status = self.host.status().remove(0);
        assert_eq!(status.state, State::Ready);
        self.host.stop().await;
        if let Some(pid) = status.pid {
            let path = format!("/proc/{pid}");
            assert!(!std::path::Path::new(&path).exists(), "{} is left: {path}", self.name);
        }
    }
}

async fn exercise_everything(server: Server) {
    let live = Live::connect(server).await.unwrap_or_else(|why| panic!("{why}"));
    let listing = live.host.catalogue().server(&live.name).unwrap().clone();
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.view.name.as_str()).collect();
    assert!(names.contains(&"echo") && names.contains(&"get-sum"), "{names:?}");
    assert!(listing.hidden.is_empty(), "{:?}", listing.hidden);
    assert!(!listing.resources.is_empty() && !listing.templates.is_empty());
    assert!(!listing.prompts.is_empty());
    assert!(live.says("echo", r#"{"message":"grüße"}"#).await.contains("grüße"));
    assert!(live.says("get-sum", r#"{"a":2,"b":40}"#).await.contains("42"));
    let failed = live.call("get-annotated-message", r#"{"messageType":"none of these"}"#).await;
    assert_eq!(failed["isError"], true, "{failed}");
    let uri = &listing.resources[0].id;
    assert!(live.read(uri).await.contains(r#""contents":["#));
    assert!(live.read("demo://resource/dynamic/text/1").await.contains("demo://resource"));
    let prompt = live.prompt("args-prompt", r#"{"city":"Paris"}"#).await;
    assert!(prompt.contains("Paris"), "{prompt}");
    live.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_over_stdio() {
    exercise_everything(child("everything", &real::everything())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_over_streamable_http() {
    let sandbox = Sandbox::new();
    let running = real::everything_http(&sandbox, EverythingHttp::Streamable);
    exercise_everything(http("everything", running.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_over_sse_is_found_from_its_url_alone() {
    let sandbox = Sandbox::new();
    let running = real::everything_http(&sandbox, EverythingHttp::Sse);
    exercise_everything(http("everything", running.url())).await;
    let mut told = http("everything", running.url());
    if let Transport::Http(http) = &mut told.transport {
        http.kind = HttpKind::Sse;
    }
    exercise_everything(told).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filesystem_reads_its_folder_and_no_other() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("shared/note.txt", "a line\n");
    let folder = file.parent().unwrap();
    let live = Live::connect(child("files", &real::filesystem(folder))).await.unwrap();
    let path = serde_json::json!({ "path": file }).to_string();
    assert_eq!(live.says("read_text_file", &path).await, "a line\n");
    let refused = live.call("read_text_file", r#"{"path":"/etc/hostname"}"#).await;
    assert_eq!(refused["isError"], true, "{refused}");
    live.stop().await;
}

/// Everything that our small Python servers offer.
async fn exercise_python(server: Server, greeting: &str) {
    let shown = format!("{} {:?}", server.name, server.protocol);
    let live = Live::connect(server).await.unwrap_or_else(|why| panic!("{shown}: {why}"));
    let listing = live.host.catalogue().server(&live.name).unwrap().clone();
    assert_eq!(listing.own().count(), 3, "{shown}");
    assert_eq!(listing.resources.len(), 1, "{shown}");
    assert_eq!(listing.prompts.len(), 1, "{shown}");
    assert_eq!(live.says("add", r#"{"a":2,"b":40}"#).await, "42", "{shown}");
    assert_eq!(live.says("echo", r#"{"s":"héllo"}"#).await, "héllo", "{shown}");
    let failed = live.call("fail", "{}").await;
    assert_eq!(failed["isError"], true, "{shown}: {failed}");
    assert!(live.read("test://greeting").await.contains(greeting), "{shown}");
    let prompt = live.prompt("review", r#"{"subject":"the code"}"#).await;
    assert!(prompt.contains("Please review the code."), "{shown}: {prompt}");
    live.stop().await;
}

fn protocols(kind: Python) -> Vec<Protocol> {
    match kind {
        Python::Mcp1 => vec![Protocol::Auto],
        _ => vec![Protocol::Auto, Protocol::Stateless, Protocol::Legacy],
    }
}

fn greeting(kind: Python) -> String {
    format!("hello from {kind:?}").to_lowercase()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_over_stdio_in_every_era() {
    for kind in Python::ALL {
        for protocol in protocols(kind) {
            let mut server = child(&format!("{kind:?}").to_lowercase(), &real::python(kind));
            server.protocol = protocol;
            exercise_python(server, &greeting(kind)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_over_http_in_every_era() {
    for kind in Python::ALL {
        let sandbox = Sandbox::new();
        let running = real::python_http(&sandbox, kind);
        for protocol in protocols(kind) {
            let mut server = http(&format!("{kind:?}").to_lowercase(), running.url());
            server.protocol = protocol;
            exercise_python(server, &greeting(kind)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_one_era_open_or_say_why_not() {
    let sandbox = Sandbox::new();
    let log = sandbox.root().join("log");
    let modern = fake_http(&sandbox, "modern", &[], &log);
    let old = fake_http(&sandbox, "good", &[], &log);
    for (server, legacy) in [
        (child("modern", &fake("modern", &log)), Some(false)),
        (http("modern", modern.url()), Some(false)),
        (child("legacy", &fake("legacy", &log)), None),
        (child("legacy", &fake("legacy-exits", &log)), None),
        (http("legacy", old.url()), None),
    ] {
        for protocol in [Protocol::Auto, Protocol::Stateless, Protocol::Legacy] {
            let shown = format!("{} {:?} {protocol:?}", server.name, server.transport);
            let mut server = server.clone();
            server.protocol = protocol.clone();
            match Live::connect(server).await {
                Ok(live) => {
                    assert!(legacy.is_none() || protocol != Protocol::Legacy, "{shown}: opened");
                    assert_eq!(live.says("echo", r#"{"s":"hi"}"#).await, "hi", "{shown}");
                    live.stop().await;
                }
                Err(why) => {
                    assert!(
                        protocol == Protocol::Legacy && legacy == Some(false),
                        "{shown}: {why}"
                    );
                    assert_eq!(why.kind(), Kind::Unavailable, "{shown}: {why}");
                    let said = why.to_string();
                    assert!(
                        said.contains("the server speaks 2026-07-28, herm speaks 2024-11-05"),
                        "{shown}: {said}"
                    );
                }
            }
        }
    }
}
