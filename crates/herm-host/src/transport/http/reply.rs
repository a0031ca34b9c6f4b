//! What a response is: status first, then headers, then body.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use herm_core::wire::{self, Incoming};
use jiff::{Timestamp, fmt::rfc2822};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};

use crate::transport::{LinkError, page};

/// Most of an error body that is kept.
const ERROR_BODY: usize = 64 << 10;

/// How long an error body may take.
const ERROR_BODY_LIMIT: Duration = Duration::from_secs(5);

/// Longest `Retry-After` that is believed, in seconds.
const RETRY_AFTER_MAX: u64 = 3600;

/// What is kept of a message over the limit.
pub(in crate::transport) const HEAD: usize = 4 << 10;

/// A body, read.
#[derive(Debug)]
pub(in crate::transport) enum Body {
    /// All of it.
    Whole(Bytes),
    /// Over the limit: its start.
    Over(Bytes),
    /// It broke off: how much had come, and how much was announced.
    Broken { read: usize, of: Option<u64> },
}

/// How a frame relates to the request whose reply carried it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::transport) enum Answer {
    /// It answers it.
    Ours,
    /// An error without an id: it can only mean this request.
    Nameless,
    /// It is something else.
    Other,
}

/// The media type, without parameters, in small letters; empty when there is none.
pub(in crate::transport) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// True if the response is a stream of events.
pub(in crate::transport) fn is_events(response: &Response) -> bool {
    media_type(response.headers()) == "text/event-stream"
}

/// Reads a body up to `limit` bytes.
pub(in crate::transport) async fn body(mut response: Response, limit: usize) -> Body {
    let mut read = BytesMut::new();
    let of = response.content_length();
    let announced = of.unwrap_or_default();
    let over = usize::try_from(announced).map_or(true, |announced| announced > limit);
    let bound = if over { HEAD.min(limit) } else { limit };
    loop {
        match response.chunk().await {
            // One chunk, the usual case, is not copied.
            Ok(Some(chunk)) if read.is_empty() && announced == chunk.len() as u64 && !over => {
                return Body::Whole(chunk);
            }
            Ok(Some(chunk)) => read.extend_from_slice(&chunk),
            Ok(None) => return Body::Whole(read.freeze()),
            Err(_) => return Body::Broken { read: read.len(), of },
        }
        if read.len() > bound || (over && read.len() == bound) {
            read.truncate(HEAD);
            return Body::Over(read.freeze());
        }
    }
}

/// Looks who is meant. Reads the frame as the session will: what it cannot read ends the request
/// whose reply it is.
pub(in crate::transport) fn answer(frame: &[u8], id: u64) -> Answer {
    let mut found = Answer::Other;
    let read = wire::read(frame, &mut |incoming| match incoming {
        Incoming::Reply { id: named, .. } if named == id => found = Answer::Ours,
        Incoming::Unaddressed(_) if found == Answer::Other => found = Answer::Nameless,
        _ => {}
    });
    match read {
        Err(bad) if bad.names.is_none_or(|named| named == id) => Answer::Ours,
        _ => found,
    }
}

/// True if the body may be a frame: what else it says it is does not matter.
pub(in crate::transport) fn may_be_frame(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    matches!(body.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Names what came instead of a message.
pub(in crate::transport) fn not_mcp(media_type: &str, body: &[u8]) -> LinkError {
    let kind = if media_type.is_empty() { "no content type" } else { media_type };
    let start = clean(&body[..body.len().min(200)]);
    let why = if let Some(page) = page::named(&clean(&body[..body.len().min(ERROR_BODY)])) {
        format!("{kind}: {page}")
    } else if start.trim().is_empty() {
        format!("an empty body ({kind})")
    } else {
        format!("{kind}: {}", start.trim())
    };
    LinkError::NotMcp { why }
}

/// The error of a response that is no success.
pub(in crate::transport) async fn refusal(response: Response) -> LinkError {
    let status = response.status().as_u16();
    let challenges = response
        .headers()
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    let retry_after = retry_after(response.headers(), Timestamp::now());
    let bytes = start(response).await;
    let rpc = is_rpc_error(&bytes);
    LinkError::Http { status, body: clean(&bytes), rpc, challenges, retry_after }
}

/// The start of a body, as far as it comes in time.
async fn start(mut response: Response) -> BytesMut {
    let mut read = BytesMut::new();
    let all = async {
        while read.len() < ERROR_BODY {
            let Ok(Some(chunk)) = response.chunk().await else { return };
            read.extend_from_slice(&chunk);
        }
    };
    // What came within the time is enough.
    drop(tokio::time::timeout(ERROR_BODY_LIMIT, all).await);
    read.truncate(ERROR_BODY);
    read
}

fn is_rpc_error(body: &[u8]) -> bool {
    let mut error = false;
    let read = may_be_frame(body).then(|| {
        wire::read(body, &mut |incoming| {
            error |= matches!(
                incoming,
                Incoming::Unaddressed(_) | Incoming::Reply { reply: Err(_), .. }
            );
        })
    });
    error && matches!(read, Some(Ok(())))
}

/// `Retry-After`: seconds, or a date. No longer than an hour is believed.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().unwrap_or(RETRY_AFTER_MAX) // only what is too long does not fit
    } else {
        let date = rfc2822::parse(text).ok()?.timestamp();
        u64::try_from(date.as_second() - now.as_second()).unwrap_or(0)
    };
    Some(seconds.min(RETRY_AFTER_MAX))
}

/// Text for a person and for a JSON parser: blanks for line ends, no other control characters.
pub(in crate::transport) fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .filter_map(|c| match c {
            '\n' | '\r' | '\t' => Some(' '),
            c if c.is_control() => None,
            c => Some(c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{clean, may_be_frame, retry_after};
    use jiff::Timestamp;
    use reqwest::header::{HeaderMap, RETRY_AFTER};

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        let now: Timestamp = "2015-10-21T07:28:00Z".parse().unwrap();
        let cells = [
            ("12", Some(12)),
            ("Wed, 21 Oct 2015 07:28:30 GMT", Some(30)),
            ("Wed, 21 Oct 2015 07:27:00 GMT", Some(0)),
            ("99999999", Some(3600)),
            ("99999999999999999999999", Some(3600)),
            ("Sat, 21 Oct 2017 07:28:30 GMT", Some(3600)),
            ("soon", None),
            ("", None),
        ];
        for (text, seconds) in cells {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            assert_eq!(retry_after(&headers, now), seconds, "{text}");
        }
    }

    #[test]
    fn escapes_of_a_terminal_do_not_leave_an_error_body() {
        assert_eq!(clean(b"a\x1b[31m\nb\x9b\xff"), "a[31m b\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_frame_is_known_by_its_first_byte() {
        assert!(may_be_frame(b"\xEF\xBB\xBF \n{}"));
        assert!(may_be_frame(b"[1]"));
        assert!(!may_be_frame(b"<html>"));
        assert!(!may_be_frame(b""));
    }
}
