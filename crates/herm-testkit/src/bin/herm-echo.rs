//! A trivial MCP server for benchmarks: the standard library only, JSON by hand, one write for each
//! reply. It answers so fast that what is measured against it is the cost of its client.
//!
//! `herm-echo [--http PORT | --sse PORT] [--bytes N] [--tools N] [--notices N]`. Without a port: lines on the
//! standard streams. With one: Streamable HTTP, replies as JSON or as an event stream; port 0 takes
//! a free one, and the port is printed. `--bytes`: size of the text that `tools/call` returns (2).
//! `--tools`: length of the list (1). `--notices`: so many notifications of three kinds, that nobody
//! asked for, come before the answer to each `tools/call` on the standard streams (0). It speaks 2025-11-25.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

#[derive(Debug, Default)]
struct Replies {
    call: String,
    list: String,
    notices: usize,
}

/// A thousand of these are one write.
const NOTICES: [&str; 3] = [
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":-1,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
];
const BLOCK: usize = 1_000;

#[derive(Debug)]
enum Mode {
    Stdio,
    Http { port: u16, events: bool },
}

fn main() -> io::Result<()> {
    let (mut mode, mut bytes, mut tools, mut notices) = (Mode::Stdio, 2, 1, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let number = arguments.next().and_then(|number| number.parse::<usize>().ok());
        let number = number.ok_or_else(|| invalid(&format!("`{flag}` needs a number")))?;
        match flag.as_str() {
            "--http" | "--sse" => {
                let port = u16::try_from(number).map_err(|_| invalid("no such port"))?;
                mode = Mode::Http { port, events: flag == "--sse" };
            }
            "--bytes" => bytes = number,
            "--tools" => tools = number,
            "--notices" => notices = number,
            _ => return Err(invalid(&format!("`{flag}` is unknown"))),
        }
    }
    let replies = Replies { call: call(bytes), list: list(tools), notices };
    match mode {
        Mode::Stdio => stdio(&replies),
        Mode::Http { port, events } => http(port, events, replies),
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn call(bytes: usize) -> String {
    let text = "x".repeat(bytes);
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}"#)
}

/// Tools of about 620 bytes, as real ones are: 145 of them take 90 kB.
fn list(tools: usize) -> String {
    let mut out = r#"{"tools":["#.to_owned();
    for i in 0..tools {
        let comma = if i == 0 { "" } else { "," };
        let written = write!(
            out,
            concat!(
                r#"{}{{"name":"echo_{}","title":"Echo {}","description":"Returns a fixed text, "#,
                r#"whatever it is given. Use it to measure what stands between you and a server; "#,
                r#"for anything else it is of no use.","inputSchema":{{"type":"object","#,
                r#""properties":{{"message":{{"type":"string","description":"What to say.","#,
                r#""maxLength":4096}},"count":{{"type":"integer","minimum":0,"maximum":100,"#,
                r#""description":"How often."}},"mode":{{"enum":["plain","loud","quiet"]}},"#,
                r#""tags":{{"type":"array","items":{{"type":"string"}},"maxItems":16}}}},"#,
                r#""required":["message"],"additionalProperties":false}},"annotations":"#,
                r#"{{"readOnlyHint":true,"openWorldHint":false}}}}"#
            ),
            comma, i, i
        );
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    out + "]}"
}

fn stdio(replies: &Replies) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut out) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        out.clear();
        if answer(&line, replies, &mut out) {
            out.push(b'\n');
            if replies.notices > 0 && String::from_utf8_lossy(&line).contains("\"tools/call\"") {
                flood(replies.notices, &mut output)?;
            }
            output.write_all(&out)?;
            output.flush()?;
        }
    }
}

fn flood(count: usize, output: &mut impl Write) -> io::Result<()> {
    let lines: Vec<&str> = NOTICES.iter().copied().cycle().take(BLOCK).collect();
    let block = lines.join("\n") + "\n";
    for _ in 0..count / BLOCK {
        output.write_all(block.as_bytes())?;
    }
    for line in &lines[..count % BLOCK] {
        writeln!(output, "{line}")?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the port is what its starter waits for")]
fn http(port: u16, events: bool, replies: Replies) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("{}", listener.local_addr()?.port());
    let replies = Arc::new(replies);
    for stream in listener.incoming() {
        let (stream, replies) = (stream?, Arc::clone(&replies));
        // A connection that breaks ends its thread.
        std::thread::spawn(move || connection(stream, &replies, events));
    }
    Ok(())
}

fn connection(stream: TcpStream, replies: &Replies, events: bool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut output = stream.try_clone()?;
    let mut input = BufReader::with_capacity(1 << 16, stream);
    let (mut line, mut body, mut out, mut json) =
        (String::new(), Vec::new(), Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let (get, post) = (line.starts_with("GET "), line.starts_with("POST "));
        body.resize(length(&mut input, &mut line)?, 0);
        input.read_exact(&mut body)?;
        out.clear();
        json.clear();
        if get {
            out.extend_from_slice(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n");
        } else if post && answer(&body, replies, &mut json) {
            response(&json, events, &mut out)?;
        } else {
            out.extend_from_slice(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        }
        output.write_all(&out)?;
    }
}

/// Reads the headers; gives the length of the body.
fn length(input: &mut impl BufRead, line: &mut String) -> io::Result<usize> {
    let mut length = 0;
    loop {
        line.clear();
        input.read_line(line)?;
        let header = line.trim_end();
        if header.is_empty() {
            return Ok(length);
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

fn response(json: &[u8], events: bool, out: &mut Vec<u8>) -> io::Result<()> {
    let (kind, before, after): (_, &[u8], &[u8]) = if events {
        ("text/event-stream", b"event: message\ndata: ", b"\n\n")
    } else {
        ("application/json", b"", b"")
    };
    let length = before.len() + json.len() + after.len();
    write!(out, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")?;
    for part in [before, json, after] {
        out.extend_from_slice(part);
    }
    Ok(())
}

/// Appends the reply to a message; false for a notification.
fn answer(message: &[u8], replies: &Replies, out: &mut Vec<u8>) -> bool {
    let (Some(id), Some(method)) = head(message) else { return false };
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id);
    let opening = concat!(
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"#,
        r#""serverInfo":{"name":"herm-echo","version":"0"}}"#
    );
    let result = match method {
        b"\"tools/call\"" => &replies.call,
        b"\"tools/list\"" => &replies.list,
        b"\"initialize\"" => opening,
        b"\"ping\"" => "{}",
        _ => {
            out.extend_from_slice(br#","error":{"code":-32601,"message":"Method not found"}}"#);
            return true;
        }
    };
    out.extend_from_slice(br#","result":"#);
    out.extend_from_slice(result.as_bytes());
    out.push(b'}');
    true
}

/// The tokens of `id` and `method` on the top level of a JSON object; nothing is checked.
fn head(json: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    let (mut id, mut method) = (None, None);
    let mut at = skip_to(json, 0, b"{") + 1;
    loop {
        at = skip_to(json, at, b"\"}");
        if json.get(at) != Some(&b'"') {
            return (id, method);
        }
        let key = at..string_end(json, at);
        at = skip_to(json, key.end, b":") + 1;
        while json.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        let start = at.min(json.len());
        at = value_end(json, start);
        let value = json[start..at].trim_ascii_end();
        match &json[key] {
            b"\"id\"" => id = Some(value),
            b"\"method\"" => method = Some(value),
            _ => {}
        }
    }
}

fn skip_to(json: &[u8], from: usize, any: &[u8]) -> usize {
    let rest = json.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| any.contains(byte)).unwrap_or(rest.len())
}

fn string_end(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

fn value_end(json: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => {
                at = string_end(json, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' if depth == 0 => return at,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    json.len()
}
