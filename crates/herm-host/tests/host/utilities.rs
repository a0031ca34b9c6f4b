//! Our tools over a server's resources and prompts.

use std::time::Duration;

use herm_core::name::Utility;
use herm_host::{Host, Kind, Refusal, Request, Served, Setup, Target};
use herm_testkit::real;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{Case, call, came, child, limited, result, text};

/// Exposed names of the utilities that are offered.
fn offered(case: &Case) -> Vec<String> {
    let catalogue = case.host.catalogue();
    let ours = catalogue.tools().filter(|tool| matches!(tool.served, Served::Utility(_)));
    ours.map(|tool| tool.name.clone()).collect()
}

async fn called(case: &Case, tool: &str, arguments: Value) -> Result<Value, Refusal> {
    let result = case.call(tool, &arguments.to_string()).await?;
    Ok(serde_json::from_str(&result.replace("1e400", "7")).unwrap())
}

/// Row 107: such tools were offered for a server that has neither, and each call of one was an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_tools_only_gets_no_other_tools() {
    let case = Case::stdio("good");
    case.connect().await.unwrap();
    assert!(offered(&case).is_empty(), "{:?}", offered(&case));
    assert!(case.listing().hidden.is_empty(), "nobody asked for them");
    for utility in Utility::ALL {
        let refused = case.call(utility.as_str(), "{}").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::NotFound, "{refused}");
        let hint = refused.hint().unwrap();
        assert!(hint.contains("does not advertise any"), "{hint}");
    }
    let exposed = Target::Exposed("mcp__case__read_resource".to_owned());
    let refused = case.host.call(Request::new(exposed)).await.unwrap_err();
    assert!(refused.hint().unwrap().contains("does not advertise any"), "{refused}");
    for method in ["resources/list", "prompts/list", "resources/read", "prompts/get"] {
        assert_eq!(came(&case.log, method), 0, "{method}");
    }
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_the_server_shadows_ours_whatever_its_case() {
    let case = Case::stdio("library");
    case.connect().await.unwrap();
    let names = ["list_resources", "read_resource", "get_prompt"];
    assert_eq!(offered(&case), names.map(|name| format!("mcp__case__{name}")));
    assert_eq!(case.tools(), ["echo", "List-Prompts"]);
    assert_eq!(case.listing().known, 2);
    let refused = case.call("list_prompts", "{}").await.unwrap_err();
    assert!(refused.hint().unwrap().contains("a tool of the server has this name"), "{refused}");
    case.call("List-Prompts", "{}").await.unwrap();
    assert_eq!(came(&case.log, "tools/call"), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switches_take_them_away_and_filters_do_not() {
    let case = Case::with(
        "library",
        |server| {
            server.tools.include = Some(Vec::new());
            server.tools.prompts = false;
            server.expose_as = Some("shelf".to_owned());
        },
        |_| {},
    );
    case.connect().await.unwrap();
    assert!(case.tools().is_empty());
    assert_eq!(offered(&case), ["mcp__shelf__list_resources", "mcp__shelf__read_resource"]);
    let refused = case.call("get_prompt", r#"{"name":"p"}"#).await.unwrap_err();
    assert!(refused.hint().unwrap().contains("`tools.prompts`"), "{refused}");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_they_answer_is_what_the_server_wrote() {
    let case = Case::stdio("library");
    // The first call starts the server, as for any tool.
    let listed = case.call("list_resources", "{}").await.unwrap();
    assert!(listed.contains(r#""size":1.0,"x-later":[1e400]"#), "{listed}");
    let asked = came(&case.log, "resources/list");
    let listed = called(&case, "list_resources", json!({})).await.unwrap();
    assert_eq!(listed["structuredContent"]["resources"][0]["uri"], "a:1");
    assert_eq!(listed["structuredContent"]["resourceTemplates"][0]["uriTemplate"], "a:{n}");
    assert_eq!(came(&case.log, "resources/list"), asked, "lists come from the catalogue");

    let read = case.call("read_resource", r#"{"uri":"a:1"}"#).await.unwrap();
    assert_eq!(
        read,
        concat!(
            r#"{"content":[{"type":"resource","resource":{"uri":"a:1","text":"one","n":1.0}},"#,
            r#"{"type":"resource","resource":{"uri":"a:1","blob":"aGk="}}],"_meta":{"x/y":1}}"#
        )
    );
    let got = called(&case, "get_prompt", json!({"name": "p", "arguments": {"n": 1, "z": null}}));
    let got = got.await.unwrap();
    assert_eq!(got["content"][0]["text"], "user:");
    assert_eq!(got["content"][1]["text"], r#"{"n":"1"}"#);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_failure_has_its_own_kind() {
    let case = Case::stdio("library");
    case.connect().await.unwrap();
    for (arguments, kind, part) in [
        (json!({"uri": "a:unknown"}), Kind::NotFound, "no resource is called `a:unknown`"),
        (json!({}), Kind::Usage, "`uri` is missing"),
        (json!({"uri": null}), Kind::Usage, "`uri` is missing"),
        (json!({"uri": "a:odd"}), Kind::Protocol, "no `contents` array"),
    ] {
        let refused = called(&case, "read_resource", arguments.clone()).await.unwrap_err();
        assert_eq!(refused.kind(), kind, "{arguments}: {refused}");
        assert!(refused.to_string().contains(part), "{arguments}: {refused}");
    }
    assert_eq!(came(&case.log, "resources/read"), 2, "bad arguments are not sent");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_callers_limit_progress_and_meta_are_its_fetchs() {
    let case = Case::stdio("library");
    case.connect().await.unwrap();
    let (progress, mut words) = mpsc::channel(4);
    let mut request = call(&case.name, "read_resource", r#"{"uri":"a:1"}"#);
    request.progress = Some(progress);
    request.meta = Some(serde_json::value::to_raw_value(&json!({"of": "the caller"})).unwrap());
    result(case.host.call(request).await).unwrap();
    let word = words.recv().await.unwrap();
    assert!(word.params.get().contains(r#""progress":1"#), "{:?}", word.params);
    let sent = crate::support::incoming(&case.log, "resources/read").remove(0);
    assert!(sent.contains(r#""of":"the caller""#), "{sent}");

    let mut request = call(&case.name, "read_resource", r#"{"uri":"a:never"}"#);
    request.deadline = Some(Duration::from_millis(200));
    let refused = result(case.host.call(request).await).unwrap_err();
    assert_eq!(refused.kind(), Kind::Timeout, "{refused}");
    case.seen("the read is cancelled", |log| came(log, "notifications/cancelled"), 1);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_read_by_its_utilities() {
    let server = limited(child("everything", &real::everything()), 60);
    let name = server.name.clone();
    let host = Host::new(Setup::new(vec![server]));
    host.connect(&[]).await.remove(0).1.unwrap();
    let catalogue = host.catalogue();
    for utility in Utility::ALL {
        let exposed = format!("mcp__everything__{}", utility.as_str());
        let tool = catalogue.tool(&exposed).unwrap_or_else(|| panic!("no {exposed}"));
        assert_eq!(tool.served, Served::Utility(utility));
        assert_eq!(tool.view.read_only, Some(true));
    }
    let call = async |tool: &str, arguments: Value| {
        let called = result(host.call(call(&name, tool, &arguments.to_string())).await);
        called.unwrap_or_else(|why| panic!("{tool}: {why}"))
    };
    let listed: Value = serde_json::from_str(&call("list_resources", json!({})).await).unwrap();
    let uri = listed["structuredContent"]["resources"][0]["uri"].as_str().unwrap().to_owned();
    let read: Value =
        serde_json::from_str(&call("read_resource", json!({"uri": uri})).await).unwrap();
    assert_eq!(read["content"][0]["resource"]["uri"].as_str(), Some(&*uri), "{read}");
    let prompts = text(&call("list_prompts", json!({})).await);
    assert!(prompts.contains("args-prompt"), "{prompts}");
    let arguments = json!({"name": "args-prompt", "arguments": {"city": "Paris"}});
    let got = call("get_prompt", arguments).await;
    assert!(got.contains("Paris"), "{got}");
    host.stop().await;
}
