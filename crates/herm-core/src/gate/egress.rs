//! Where a request may go: redirects and the endpoint of HTTP+SSE (H-6, L-2).
//!
//! One rule: a server may send us elsewhere within its own origin and nowhere else, since every
//! request carries the credentials that the configuration gave to that origin.

use url::{Position, Url};

/// What becomes of a redirect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Redirect {
    /// Repeat the request there: same method, same body, same headers.
    Follow(Url),
    /// Do not. Names the target without credentials and query.
    Refuse(String),
}

/// True for the statuses that redirect. 300 and 304 do not.
#[must_use]
pub fn redirects(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Decides on a redirect of a request to `from` with the `Location` header `to`.
///
/// Only 307 and 308 keep the method; the others turn a POST into a GET and are followed for `GET`
/// alone.
#[must_use]
pub fn redirect(from: &Url, to: Option<&str>, status: u16, method: &str) -> Redirect {
    let Some(to) = to else { return Redirect::Refuse("nowhere (no `Location`)".to_owned()) };
    let Ok(target) = from.join(to) else {
        return Redirect::Refuse("a `Location` that is no URL".to_owned());
    };
    let keeps_method = matches!(status, 307 | 308) || method == "GET";
    if keeps_method && redirects(status) && same_origin(from, &target) {
        Redirect::Follow(bare(target))
    } else {
        Redirect::Refuse(shown(&target))
    }
}

/// The URL that an `endpoint` event names, absolute or relative to the URL of its stream.
///
/// # Errors
/// Why it is not used: it is no URL, or lies on another origin.
pub fn endpoint(base: &Url, text: &str) -> Result<Url, String> {
    let target = base.join(text.trim()).map_err(|_| "the endpoint is no URL".to_owned())?;
    if same_origin(base, &target) {
        Ok(bare(target))
    } else {
        Err(format!("the endpoint is on another origin: {}", shown(&target)))
    }
}

/// Scheme, host and port are the same.
#[must_use]
pub fn same_origin(one: &Url, other: &Url) -> bool {
    matches!(one.scheme(), "http" | "https") && one.origin() == other.origin()
}

/// A URL for messages: without user, password, query and fragment.
#[must_use]
pub fn shown(url: &Url) -> String {
    let end = &url[Position::BeforeHost..Position::AfterPath];
    format!("{}://{end}", url.scheme())
}

/// Without a user and a password of the peer's choice: ours travel in a header.
fn bare(mut url: Url) -> Url {
    // Both fail only for URLs without a host, which no origin equals.
    if url.set_username("").is_ok() && url.set_password(None).is_ok() {
        url.set_fragment(None);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::{Redirect, endpoint, redirect, shown};
    use url::Url;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn only_a_redirect_that_keeps_method_and_origin_is_followed() {
        let base = url("https://a.example/mcp?k=1");
        let cells = [
            (307, "POST", "/mcp/", Some("https://a.example/mcp/")),
            (308, "POST", "https://a.example:443/x", Some("https://a.example/x")),
            (308, "POST", "https://u:p@a.example/x#f", Some("https://a.example/x")),
            (307, "DELETE", "/x", Some("https://a.example/x")),
            (301, "POST", "/mcp/", None),
            (302, "POST", "/mcp/", None),
            (303, "POST", "/mcp/", None),
            (303, "GET", "/mcp/", Some("https://a.example/mcp/")),
            (304, "GET", "/mcp/", None),
            (307, "POST", "https://b.example/mcp", None),
            (307, "POST", "//b.example/mcp", None),
            (307, "POST", "http://a.example/mcp", None),
            (307, "POST", "https://a.example:8443/mcp", None),
            (302, "GET", "https://b.example/mcp", None),
            (307, "POST", "file:///etc/passwd", None),
        ];
        for (status, method, to, followed) in cells {
            let got = redirect(&base, Some(to), status, method);
            match followed {
                Some(there) => assert_eq!(got, Redirect::Follow(url(there)), "{status} {to}"),
                None => assert!(matches!(got, Redirect::Refuse(_)), "{status} {method} {to}"),
            }
        }
        assert!(matches!(redirect(&base, None, 307, "POST"), Redirect::Refuse(_)));
    }

    #[test]
    fn a_refused_redirect_is_named_without_its_secrets() {
        let got = redirect(&url("http://a/"), Some("http://u:pw@b:9/p?token=s#f"), 307, "POST");
        assert_eq!(got, Redirect::Refuse("http://b:9/p".to_owned()));
    }

    #[test]
    fn an_endpoint_elsewhere_is_refused() {
        let base = url("http://a:1/sse?x=1");
        assert_eq!(endpoint(&base, "/m?s=1").unwrap(), url("http://a:1/m?s=1"));
        assert_eq!(endpoint(&base, " m?s=1\n").unwrap(), url("http://a:1/m?s=1"));
        assert_eq!(endpoint(&base, "http://a:1/m").unwrap(), url("http://a:1/m"));
        for bad in ["http://b:1/m", "http://a:2/m", "https://a:1/m", "//b/m", "javascript:1"] {
            assert!(endpoint(&base, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shown_url_has_no_user_and_no_query() {
        assert_eq!(shown(&url("https://u:p@h:8443/a/b?q=1#f")), "https://h:8443/a/b");
    }
}
