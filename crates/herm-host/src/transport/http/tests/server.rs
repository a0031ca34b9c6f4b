//! A scripted HTTP server on a raw socket: it says exactly the bytes of the script and remembers
//! what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use herm_core::config::{HttpKind, HttpTarget};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// One request, as it came.
#[derive(Clone, Debug)]
pub(in crate::transport) struct Seen {
    pub(in crate::transport) at: Instant,
    /// The number of its connection.
    pub(in crate::transport) connection: usize,
    pub(in crate::transport) method: String,
    pub(in crate::transport) path: String,
    head: String,
    pub(in crate::transport) body: String,
}

impl Seen {
    /// The value of a header; its name in small letters.
    pub(in crate::transport) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.eq_ignore_ascii_case(name)).then(|| value.trim())
        })
    }

    /// The method of the JSON-RPC message.
    pub(in crate::transport) fn rpc(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["method"].as_str().unwrap_or_default().to_owned()
    }

    /// Everything that was sent, for a search.
    pub(in crate::transport) fn all(&self) -> String {
        format!("{}\n{}", self.head, self.body)
    }
}

/// What is said to a request.
#[derive(Clone, Debug)]
pub(in crate::transport) struct Say {
    pieces: Vec<Vec<u8>>,
    then: Then,
}

#[derive(Clone, Copy, Debug)]
enum Then {
    /// Wait for the next request.
    Keep,
    /// Close the connection.
    Close,
    /// Say nothing more, ever.
    Hang,
}

impl Say {
    /// Exactly these bytes; the connection stays.
    pub(in crate::transport) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { pieces: vec![bytes.into()], then: Then::Keep }
    }

    /// A response with a length. `head` is the status, and headers if any, each line with CRLF.
    pub(in crate::transport) fn with(head: &str, body: &str) -> Self {
        Self::raw(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    /// A success with JSON.
    pub(in crate::transport) fn json(body: &str) -> Self {
        Self::with("200 OK\r\nContent-Type: application/json", body)
    }

    /// A stream of events that ends; each piece is a read of its own.
    pub(in crate::transport) fn events(pieces: &[&str]) -> Self {
        let mut say = Self::open_events(pieces);
        say.pieces.push(b"0\r\n\r\n".to_vec());
        say.then = Then::Keep;
        say
    }

    /// A stream of events that stays open and silent.
    pub(in crate::transport) fn open_events(pieces: &[&str]) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunks = pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len()));
        let pieces = std::iter::once(head.to_owned()).chain(chunks).map(String::into_bytes);
        Self { pieces: pieces.collect(), then: Then::Hang }
    }

    /// Closes the connection afterwards.
    pub(in crate::transport) fn close(mut self) -> Self {
        self.then = Then::Close;
        self
    }

    /// Never says more.
    pub(in crate::transport) fn hang() -> Self {
        Self { pieces: vec![], then: Then::Hang }
    }
}

type Script = Arc<dyn Fn(&Seen) -> Say + Send + Sync>;

/// The server; it ends when dropped.
pub(in crate::transport) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    asked: watch::Receiver<usize>,
    closed: watch::Receiver<usize>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// `script` gets the request and its number, from 0.
    pub(in crate::transport) async fn start(
        script: impl Fn(&Seen, usize) -> Say + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let (asking, asked) = watch::channel(0);
        let (closing, closed) = watch::channel(0);
        let noted = Arc::clone(&seen);
        let noting: Script = Arc::new(move |request| {
            let number = {
                let mut seen = noted.lock().unwrap();
                seen.push(request.clone());
                seen.len() - 1
            };
            asking.send_replace(number + 1);
            script(request, number)
        });
        tasks.spawn(accept(listener, noting, closing));
        Self { address, seen, asked, closed, _tasks: tasks }
    }

    pub(in crate::transport) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A target at `/mcp`.
    pub(in crate::transport) fn target(&self) -> HttpTarget {
        target(&format!("{}/mcp", self.origin()))
    }

    /// All requests so far.
    pub(in crate::transport) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until so many requests have come.
    pub(in crate::transport) async fn asked(&self, count: usize) {
        self.asked.clone().wait_for(|asked| *asked >= count).await.unwrap();
    }

    /// Waits until so many connections are closed.
    pub(in crate::transport) async fn closed(&self, count: usize) {
        self.closed.clone().wait_for(|closed| *closed >= count).await.unwrap();
    }

    /// Those with this HTTP method.
    pub(in crate::transport) fn seen_by(&self, method: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.method == method).collect()
    }
}

pub(in crate::transport) fn target(url: &str) -> HttpTarget {
    HttpTarget {
        url: url.into(),
        headers: Vec::new(),
        kind: HttpKind::Auto,
        ca_file: None,
        dangerous_no_verify: false,
        identity: None,
        proxy: None,
    }
}

async fn accept(listener: TcpListener, script: Script, closing: watch::Sender<usize>) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((socket, _)) = listener.accept().await {
        socket.set_nodelay(true).unwrap();
        let served = serve(socket, number, Arc::clone(&script));
        let closing = closing.clone();
        connections.spawn(async move {
            served.await;
            closing.send_modify(|closed| *closed += 1);
        });
        number += 1;
    }
}

async fn serve(mut socket: TcpStream, connection: usize, script: Script) {
    let mut read = Vec::new();
    while let Some(request) = request(&mut socket, &mut read, connection).await {
        let say = script(&request);
        for piece in say.pieces {
            if socket.write_all(&piece).await.is_err() {
                return;
            }
        }
        match say.then {
            Then::Keep => {}
            Then::Close => return,
            Then::Hang => {
                // Until the client goes away.
                let mut rest = Vec::new();
                drop(socket.read_to_end(&mut rest).await);
                return;
            }
        }
    }
}

/// The next request of a connection.
async fn request(socket: &mut TcpStream, read: &mut Vec<u8>, connection: usize) -> Option<Seen> {
    let end = loop {
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(read).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(read[..end].to_vec()).unwrap();
    let mut words = head.split(' ').map(ToOwned::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let at = Instant::now();
    let mut seen = Seen { at, connection, method, path, head, body: String::new() };
    let length: usize = seen.header("content-length").map_or(0, |n| n.parse().unwrap());
    while read.len() < end + length {
        if socket.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
    seen.body = String::from_utf8(read[end..end + length].to_vec()).unwrap();
    read.drain(..end + length);
    Some(seen)
}
