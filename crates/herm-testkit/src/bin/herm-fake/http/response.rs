//! Writing HTTP/1.1 responses, from ordinary ones down to single bytes.

use std::io::Write;
use std::net::TcpStream;

use herm_testkit::fake_log::Writer;

/// The answer to one request. Writes to a client that has gone away are dropped.
pub(crate) struct Reply<'a> {
    stream: &'a TcpStream,
    log: &'a Writer,
    closes: bool,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(stream: &'a TcpStream, log: &'a Writer) -> Self {
        Self { stream, log, closes: false }
    }

    /// Whether the connection ends with this answer.
    pub(crate) fn closes(&self) -> bool {
        self.closes
    }

    /// A whole answer. `headers` are lines without their end, such as `Content-Type: text/plain`.
    pub(crate) fn whole(&mut self, status: u16, headers: &[&str], body: &str) {
        let mut head = head(status, headers);
        if status != 204 {
            head.push_str(&format_length(body.len()));
        }
        self.raw(format!("{head}\r\n{body}").as_bytes());
    }

    pub(crate) fn json(&mut self, status: u16, body: &str) {
        self.whole(status, &["Content-Type: application/json"], body);
    }

    pub(crate) fn empty(&mut self, status: u16) {
        self.whole(status, &[], "");
    }

    /// The connection ends with this answer.
    pub(crate) fn ends(&mut self) {
        self.closes = true;
    }

    /// The head of an event stream, which lasts until the connection closes.
    pub(crate) fn stream(&mut self, headers: &[&str]) {
        let mut all = vec!["Content-Type: text/event-stream", "Connection: close"];
        all.extend(headers);
        self.closes = true;
        self.raw(format!("{}\r\n", head(200, &all)).as_bytes());
    }

    /// The connection ends, whatever was written.
    pub(crate) fn hang_up(&mut self) {
        self.closes = true;
    }

    /// Bytes as they are, at once.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> bool {
        self.log.add_bytes("out", bytes);
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).is_ok()
    }
}

fn head(status: u16, headers: &[&str]) -> String {
    // Clients go by the number; the words are for people who read the log.
    let reason = match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        300..=399 => "Redirect",
        400..=499 => "Refused",
        _ => "Status",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head
}

fn format_length(length: usize) -> String {
    format!("Content-Length: {length}\r\n")
}
