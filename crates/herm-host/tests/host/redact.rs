//! A server repeats what it was given: nothing of that leaves in an error.

use herm_core::config::{Http, HttpKind, Template, Transport, Verify};
use herm_host::{Host, Setup};

use crate::support::{call, limited, result, stdio};

/// Answers `initialize` and the list, and every call with an error that holds its token.
const TELLTALE: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no good: %s","data":"%s"}}\n' "$id" "$CODE" "$1" ;;
  esac
done"#;

#[tokio::test]
async fn an_error_of_a_server_does_not_repeat_its_env_or_a_variable() {
    let mut server = limited(stdio("t", &["sh", "-c", TELLTALE, "sh", "${FROM_FILE}"]), 10);
    let Transport::Stdio(stdio) = &mut server.transport else { panic!() };
    stdio.env.push(("CODE".to_owned(), Template("hunter2-of-env".to_owned())));
    let name = server.name.clone();
    let mut setup = Setup::new(vec![server]);
    setup.environment.push(("FROM_FILE".to_owned(), "hunter2-of-file".to_owned()));
    let host = Host::new(setup);
    let error = result(host.call(call(&name, "t", "{}")).await).unwrap_err();
    host.stop().await;
    assert!(error.to_string().contains("no good: [REDACTED]"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn the_last_words_of_a_server_do_not_repeat_its_env() {
    let mut server = limited(stdio("t", &["sh", "-c", "echo \"bad: $CODE\" >&2; exit 1"]), 10);
    let Transport::Stdio(stdio) = &mut server.transport else { panic!() };
    stdio.env.push(("CODE".to_owned(), Template("hunter2-of-env".to_owned())));
    let name = server.name.clone();
    let host = Host::new(Setup::new(vec![server]));
    let probe = host.probe(&name).await;
    let status = host.status();
    host.stop().await;
    let shown = format!("{probe:?} {status:?}");
    assert!(shown.contains("bad: [REDACTED]"), "{shown}");
    assert!(!format!("{:?}", probe.failed).contains("hunter2"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_a_server_does_not_repeat_headers_and_url() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = vec![0; 4096];
            let n = stream.read(&mut asked).await.unwrap();
            let head =
                format!("HTTP/1.1 500 X\r\nConnection: close\r\nContent-Length: {n}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&asked[..n]).await.unwrap();
        }
    });
    let mut server = limited(stdio("t", &["none"]), 10);
    let url = format!("http://127.0.0.1:{port}/?api=hunter2-of-url");
    let header = ("x-code".to_owned(), Template("Sesame hunter2-of-header".to_owned()));
    server.transport = Transport::Http(Http {
        url: Template(url),
        headers: vec![header],
        kind: HttpKind::Streamable,
        verify: Verify::Platform,
        identity: None,
        proxy: None,
    });
    let name = server.name.clone();
    let host = Host::new(Setup::new(vec![server]));
    let why = host.connect(std::slice::from_ref(&name)).await.remove(0).1.unwrap_err();
    host.stop().await;
    let shown = format!("{why:?}");
    assert!(shown.contains("[REDACTED]") && !shown.contains("hunter2"), "{shown}");
}
