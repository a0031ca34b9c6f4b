//! Servers that ask back: `input_required` rounds, and the requests of the handshake era.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use herm_core::config::Server;
use herm_host::{Answer, Answerer, Answering, Ask, Kind, NoAnswer};
use herm_testkit::fake_log;

use crate::support::{Case, call, came, incoming, result, text};

/// Takes a person's time to answer.
#[derive(Debug)]
struct Slow(Duration);

impl Answer for Slow {
    fn capabilities(&self) -> String {
        r#"{"elicitation":{"form":{}}}"#.to_owned()
    }

    fn answer(&self, ask: Ask) -> Answering {
        let time = self.0;
        Box::pin(async move {
            if ask.method != "elicitation/create" {
                return Err(NoAnswer::NotDeclared);
            }
            tokio::time::sleep(time).await;
            Ok(r#"{"action":"accept","content":{"name":"Grace"}}"#.to_owned())
        })
    }
}

/// Longer than both limits of a call.
fn slow() -> Answerer {
    Answerer::Callback(Arc::new(Slow(Duration::from_millis(2500))))
}

fn hurried(server: &mut Server) {
    server.limits.call_idle = Duration::from_secs(1);
    server.limits.call_absolute = Duration::from_secs(2);
}

/// What tool `ask` or `loop` of the stateless fake answers this answerer.
async fn asked(case: &Case, tool: &str, answerer: Answerer) -> Result<String, herm_host::Refusal> {
    let mut request = call(&case.name, tool, "{}");
    request.caller.answerer = answerer;
    result(case.host.call(request).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounds_end_as_the_answerer_says() {
    let case = Case::http_with("modern", &[], hurried);
    for (answerer, said) in [
        (Answerer::Decline, "no name: decline"),
        (Answerer::AcceptDefaults, "hello Ada"),
        (slow(), "hello Grace"),
    ] {
        assert_eq!(text(&asked(&case, "ask", answerer).await.unwrap()), said);
    }
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_answerer_nothing_is_declared_and_a_question_is_refused() {
    let case = Case::http("modern", &[]);
    let refused = asked(&case, "ask", Answerer::None).await.unwrap_err();
    let said = format!("{refused} {}", refused.hint().unwrap_or_default());
    assert!(said.contains("elicitation"), "says not what is missing: {said}");
    let refused = asked(&case, "loop", Answerer::None).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Protocol);
    assert!(
        refused.to_string().contains("asks for elicitation/create, which nobody here can answer"),
        "{refused}"
    );
    for sent in incoming(&case.log, "tools/call") {
        assert!(sent.contains(r#""io.modelcontextprotocol/clientCapabilities":{}"#), "{sent}");
    }
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_goes_back_byte_for_byte() {
    let case = Case::http("modern", &[]);
    asked(&case, "ask", Answerer::AcceptDefaults).await.unwrap();
    let token = |text: &str| {
        let (_, rest) = text.split_once(r#""requestState":"#)?;
        let end = rest[1..].find("\"").map(|_| {
            let mut escaped = false;
            rest.char_indices().skip(1).find_map(|(at, c)| match c {
                '"' if !escaped => Some(at),
                '\\' => {
                    escaped = !escaped;
                    None
                }
                _ => {
                    escaped = false;
                    None
                }
            })
        })??;
        Some(rest[..=end].to_owned())
    };
    let entries = fake_log::read(&case.log);
    let out = entries.iter().filter(|entry| entry.event == "out");
    let given = out.filter_map(|entry| token(entry.data["text"].as_str()?)).next().unwrap();
    let back: Vec<String> =
        incoming(&case.log, "tools/call").iter().filter_map(|sent| token(sent)).collect();
    assert_eq!(back, [given]);
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_rounds_are_enough() {
    let case = Case::http("modern", &[]);
    let refused = asked(&case, "loop", Answerer::AcceptDefaults).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Protocol, "{refused}");
    assert!(refused.to_string().contains("10 times"), "{refused}");
    assert_eq!(came(&case.log, "tools/call"), 11, "the call and ten answers");
    case.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn legacy_questions_end_as_the_answerer_says() {
    for (answerer, kind, said) in [
        (Answerer::None, "elicitation", "not asked: the client did not declare `elicitation`"),
        (Answerer::Decline, "elicitation", r#"{"action":"decline"}"#),
        (
            Answerer::AcceptDefaults,
            "elicitation",
            r#"{"action":"accept","content":{"name":"Ada"}}"#,
        ),
        (Answerer::Decline, "sampling", "not asked: the client did not declare `sampling`"),
        (slow(), "elicitation", r#"{"action":"accept","content":{"name":"Grace"}}"#),
    ] {
        let shown = format!("{answerer:?} {kind}");
        let case = Case::with("ask", hurried, |setup| setup.answerer = answerer);
        let started = Instant::now();
        let result = case.call("ask", &format!(r#"{{"kind":"{kind}"}}"#)).await;
        let result = result.unwrap_or_else(|why| panic!("{shown}: {why}"));
        assert_eq!(text(&result), said, "{shown} after {:?}", started.elapsed());
        case.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_own_answerer_comes_before_the_hosts() {
    let case = Case::with("ask", |_| {}, |setup| setup.answerer = Answerer::Decline);
    let said = asked(&case, "ask", Answerer::AcceptDefaults).await.unwrap();
    assert_eq!(text(&said), r#"{"action":"accept","content":{"name":"Ada"}}"#);
    case.end().await;
}

/// Breaks down in one of two ways.
#[derive(Debug)]
struct Broken;

impl Answer for Broken {
    fn capabilities(&self) -> String {
        r#"{"elicitation":{"form":{}},"roots":{}}"#.to_owned()
    }

    fn answer(&self, ask: Ask) -> Answering {
        assert_ne!(ask.method, "elicitation/create", "a callback that panics at once");
        Box::pin(async { Err(NoAnswer::Rejected) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_callback_costs_its_question_only() {
    let broken = || Answerer::Callback(Arc::new(Broken));
    let case = Case::with("ask", |_| {}, |setup| setup.answerer = broken());
    let said = text(&case.call("ask", r#"{"kind":"elicitation"}"#).await.unwrap());
    assert!(said.contains("-32603") && said.contains("nobody could answer"), "{said}");
    let said = text(&case.call("ask", r#"{"kind":"roots"}"#).await.unwrap());
    assert!(said.contains("rejected by the user"), "{said}");
    assert_eq!(case.status().generation, 1);
    case.end().await;
    let case = Case::http("modern", &[]);
    let refused = asked(&case, "ask", broken()).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Protocol, "{refused}");
    assert_eq!(text(&asked(&case, "ask", Answerer::Decline).await.unwrap()), "no name: decline");
    case.end().await;
}
