//! TLS and the files that it is made from.

use std::sync::Arc;

use herm_core::config::HttpTarget;
use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::server::target;
use super::*;

fn refused(target: &HttpTarget) -> String {
    Client::new(target).expect_err("a client").to_string()
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let junk = dir.path().join("junk.pem").to_str().unwrap().to_owned();
    std::fs::write(&junk, "-----BEGIN CERTIFICATE-----\n!\n").unwrap();
    let empty = dir.path().join("empty.pem").to_str().unwrap().to_owned();
    std::fs::write(&empty, "").unwrap();
    let folder = dir.path().to_str().unwrap().to_owned();
    for path in ["/nowhere/a.pem".to_owned(), junk, empty, folder] {
        let mut https = target("https://localhost/mcp");
        https.ca_file = Some(path.clone());
        let shown = refused(&https);
        assert!(shown.contains("`ssl_verify`") && shown.contains(&path), "{shown}");
        let mut https = target("https://localhost/mcp");
        https.dangerous_no_verify = true;
        https.identity = Some((path.clone(), None));
        let shown = refused(&https);
        assert!(shown.contains("`client_cert`") && shown.contains(&path), "{shown}");
    }
}

#[test]
fn a_setting_that_cannot_be_used_is_named_without_its_secret() {
    let mut bad = target("http://example.invalid/mcp");
    bad.proxy = Some("http://user:s3cret@:bad".into());
    let shown = refused(&bad);
    assert!(shown.contains("`proxy`") && !shown.contains("s3cret"), "{shown}");
    let mut bad = target("http://localhost/mcp");
    bad.headers = vec![("X-Key".to_owned(), "s3\ncret".into())];
    let shown = refused(&bad);
    assert!(shown.contains("`headers`") && shown.contains("X-Key"), "{shown}");
    assert!(!shown.contains("cret"), "{shown}");
    assert!(refused(&target("ftp://localhost/mcp")).contains("`url`"));
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_error() {
    let (origin, _server) = listen(|mut socket| async move {
        socket.read_u8().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    })
    .await;
    let mut https = target(&format!("{origin}/mcp"));
    https.dangerous_no_verify = true;
    let failed = ask(&https).await;
    assert!(matches!(failed, Err(LinkError::Tls { .. })), "{failed:?}");
}

#[tokio::test]
async fn a_certificate_is_believed_only_if_the_entry_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let ca = write(&dir, "ca.pem", &made.cert.pem());
    let (origin, _server) = answering(server_config(&made, false)).await;

    let mut https = target(&format!("{origin}/mcp"));
    https.dangerous_no_verify = true;
    assert!(ask(&https).await.is_ok());
    https.dangerous_no_verify = false;
    https.ca_file = Some(ca);
    assert!(ask(&https).await.is_ok());

    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    https.ca_file = Some(write(&dir, "other.pem", &other.cert.pem()));
    match ask(&https).await {
        Err(LinkError::Tls { origin: named, why }) => {
            assert_eq!(named, origin);
            assert!(why.contains("certificate"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_a_server_that_asks() {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (origin, _server) = answering(server_config(&made, true)).await;
    let mut https = target(&format!("{origin}/mcp"));
    https.ca_file = Some(write(&dir, "ca.pem", &made.cert.pem()));
    let failed = ask(&https).await;
    assert!(matches!(failed, Err(LinkError::Tls { .. })), "{failed:?}");

    let cert = write(&dir, "cert.pem", &made.cert.pem());
    let key = write(&dir, "key.pem", &made.signing_key.serialize_pem());
    https.identity = Some((cert, Some(key)));
    assert!(ask(&https).await.is_ok());
    let both = made.cert.pem() + &made.signing_key.serialize_pem();
    https.identity = Some((write(&dir, "both.pem", &both), None));
    assert!(ask(&https).await.is_ok());
}

async fn ask(target: &HttpTarget) -> Result<Vec<String>, LinkError> {
    let mut link = HttpLink::new(Client::new(target).unwrap(), target, LIMIT);
    call(&mut link, request(1, "initialize")).await
}

fn write(dir: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A server with this certificate, which may demand the same from its clients.
fn server_config(made: &CertifiedKey<KeyPair>, demanding: bool) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if demanding {
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    builder.with_single_cert(vec![made.cert.der().clone()], key).unwrap()
}

/// Answers the first request of each connection.
async fn answering(config: ServerConfig) -> (String, JoinSet<()>) {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    listen(move |socket| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(socket).await else { return };
            let mut read = Vec::new();
            while !read.ends_with(b"{}}") {
                if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                    return;
                }
            }
            let body = result(1);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
            let answer = format!("{head} {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            stream.read_u8().await.ok();
        }
    })
    .await
}

/// Serves each connection in turn.
async fn listen<F: Future<Output = ()> + Send>(
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("https://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            serve(socket).await;
        }
    });
    (origin, tasks)
}
