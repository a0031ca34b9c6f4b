//! Reading HTTP/1.1 requests: heads up to 64 KiB, bodies up to 32 MiB with a length or in chunks.

use std::io::{BufRead, Read};

use serde_json::{Value, json};

use crate::message::Message;

const HEAD: u64 = 64 << 10;
const BODY: u64 = 32 << 20;

pub(crate) struct Request {
    pub(crate) method: String,
    /// With query.
    pub(crate) path: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// The next one; none at the end of the connection and for what is no HTTP.
    pub(crate) fn read(input: &mut impl BufRead) -> Option<Self> {
        let mut head = input.by_ref().take(HEAD);
        let first = line(&mut head)?;
        let mut words = first.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = Vec::new();
        loop {
            let line = line(&mut head)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method, path, headers, body: Vec::new() };
        request.body = request.read_body(input)?;
        Some(request)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(have, _)| have == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC message of the body.
    pub(crate) fn message(&self) -> Option<Message> {
        Message::read(&self.body)
    }

    pub(crate) fn to_json(&self) -> Value {
        let headers: serde_json::Map<String, Value> =
            self.headers.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect();
        let body: String = String::from_utf8_lossy(&self.body).chars().take(2000).collect();
        json!({"method": self.method, "path": self.path, "headers": headers, "body": body})
    }

    fn read_body(&self, input: &mut impl BufRead) -> Option<Vec<u8>> {
        if self.header("transfer-encoding") == Some("chunked") {
            return chunks(input);
        }
        let length: u64 = self.header("content-length").unwrap_or("0").parse().ok()?;
        exactly(input, length)
    }
}

fn line(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = input.read_line(&mut line).ok()?;
    if read == 0 { None } else { Some(line.trim_end().to_owned()) }
}

fn exactly(input: &mut impl BufRead, length: u64) -> Option<Vec<u8>> {
    if length > BODY {
        return None;
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body).ok()?;
    Some(body)
}

fn chunks(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = u64::from_str_radix(&line(input)?, 16).ok()?;
        body.extend(exactly(input, length)?);
        line(input)?;
        if length == 0 || body.len() as u64 > BODY {
            return Some(body);
        }
    }
}
