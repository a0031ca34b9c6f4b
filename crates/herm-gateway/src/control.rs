//! The control socket: HTTP/1.1 over a Unix socket, by which herm's own commands reach a running
//! host of the same home.
//!
//! [`Folder`] is where the sockets are, [`serve`] answers on one, [`Client`] asks on one. Both sides
//! see that the other belongs to the same user, and neither waits or reads without a bound.

mod client;
mod folder;
mod routes;
mod server;

use serde::{Deserialize, Serialize};

pub use client::{Client, ClientError};
pub use folder::{Folder, FolderError, Socket};
pub use server::serve;

use crate::json::Failure;

/// A request has no more bytes than this: arguments of 16 MiB, and what stands around them.
const MAX_REQUEST: usize = (16 << 20) + (64 << 10);
/// An answer has no more bytes than this: it is a program of the same user that gives it.
const MAX_ANSWER: usize = 256 << 20;

/// What the body of a request is: for which configuration, and what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope<T> {
    /// The configuration file in use; a host with another one answers that it is not the one.
    pub config: Option<String>,
    /// What is asked.
    pub ask: T,
}

/// `POST /v1/reload`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReloadAsk {
    /// How long to wait for servers that are started.
    pub wait_ms: u64,
}

/// No further words.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Nothing {}

/// Bytes that make up a segment of a path as they are.
fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
}

/// One segment of a path, percent-encoded.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(hex(byte >> 4));
            out.push(hex(byte & 15));
        }
    }
    out
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

/// The text of a segment; `None` if it is no percent-encoded UTF-8.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// The host is not the one for this request: another configuration, or a server that it has not.
const MISDIRECTED: u16 = 421;

/// The HTTP status of a failure, for those who look at nothing else.
fn status_of(failure: &Failure) -> u16 {
    match failure.kind.as_str() {
        "usage" | "config" => 400,
        "login_needed" => 401,
        "refused" => 403,
        "not_found" => 404,
        "unavailable" => 503,
        "timeout" => 504,
        "protocol" | "outcome_unknown" => 502,
        _ => 500, // `internal`, and what is to come
    }
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded};

    #[test]
    fn every_server_name_survives_the_path() {
        for name in ["fs", "my api", "größe", "a%2Fb", "a.b:c"] {
            assert_eq!(decoded(&encoded(name)).as_deref(), Some(name));
            assert!(encoded(name).is_ascii());
        }
        assert_eq!(decoded("%4"), None);
        assert_eq!(decoded("%ff"), None);
    }
}
