//! The side that answers: a task a connection, one request each.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use super::folder::{Socket, is_ours};
use super::{MAX_REQUEST, routes, status_of};
use crate::gate::Gate;
use crate::json::Failure;

/// Connections that are served at once; the next one waits.
const MAX_CONNECTIONS: usize = 128;
/// The head of a request comes within this time, and its body within as much again.
const HEAD: Duration = Duration::from_secs(10);
/// Answers that are being written when all has ended have so much time.
const LAST: Duration = Duration::from_secs(1);
/// After a connection could not be accepted (too many files are open) we wait a little.
const PAUSE: Duration = Duration::from_millis(200);

/// Answers on the socket until the gate stops. Connections that are open then are served until
/// [`Gate::has_ended`]: whoever asked for the end hears of it.
pub async fn serve(socket: Socket, gate: Arc<Gate>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = gate.stopping() => break,
            Some(_) = connections.join_next() => {}
            accepted = socket.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                match accepted {
                    Ok((stream, _)) if is_ours(&stream) => {
                        connections.spawn(connection(stream, Arc::clone(&gate)));
                    }
                    Ok(_) => {} // another user's
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        }
    }
    drop(socket);
    tokio::select! {
        () = gate.ended() => {}
        () = empty(&mut connections) => {}
    }
    // Whoever still waits is cut off with the process.
    drop(tokio::time::timeout(LAST, empty(&mut connections)).await);
}

async fn empty(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

/// The request runs in this task: when the other end closes, it is dropped, and so cancelled.
async fn connection(stream: UnixStream, gate: Arc<Gate>) {
    let service = service_fn(|request| answer(Arc::clone(&gate), request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    drop(served.await); // a connection that broke has nobody to be told
}

async fn answer(
    gate: Arc<Gate>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > MAX_REQUEST as u64 {
        let why = format!("the body has over {MAX_REQUEST} bytes");
        return Ok(response(400, document(routes::usage(why))));
    }
    let body = tokio::time::timeout(HEAD, Limited::new(body, MAX_REQUEST).collect()).await;
    let answered = match body {
        Ok(Ok(body)) => {
            let body = body.to_bytes();
            routes::answer(&gate, &head.method, head.uri.path(), &body).await
        }
        Ok(Err(error)) => Err(routes::usage(format!("the body cannot be read: {error}")).into()),
        Err(_) => Err(Failure::new("timeout", "the body did not come in time").into()),
    };
    let (status, json) = match answered {
        Ok(json) => (200, json),
        Err(routes::Refused::Misdirected(failure)) => (super::MISDIRECTED, document(failure)),
        Err(routes::Refused::Failed(failure)) => (status_of(&failure), document(*failure)),
    };
    Ok(response(status, json))
}

fn response(status: u16, json: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(json)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    response
}

fn document(failure: impl Into<Box<Failure>>) -> Vec<u8> {
    let failure: Box<Failure> = failure.into();
    serde_json::to_vec(&failure.document()).unwrap_or_default() // texts and numbers only
}
