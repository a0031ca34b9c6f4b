//! One HTTP client for a target: where it is, what every request to it carries, and how far a
//! redirect may lead.

use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use herm_core::config::HttpTarget;
use herm_core::gate::egress;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Proxy, Request, Response};
use url::{Host, Url};

use super::tls;
use crate::transport::LinkError;

const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// Redirects in a row.
const REDIRECTS: usize = 5;

/// What hyper decides on; a configured one would break the framing of the message.
const NOT_CONFIGURABLE: [HeaderName; 3] =
    [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION];

/// One HTTP client for a target: TLS, proxy, redirect policy, pool. Clones share the pool.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: Url,
    origin: String,
    headers: HeaderMap,
}

impl Client {
    /// Builds it; reads certificate files.
    ///
    /// # Errors
    /// [`LinkError::Setting`] for a value of the entry that cannot be used, [`LinkError::Tls`] if
    /// the target needs TLS and nothing is trusted.
    pub(crate) fn new(target: &HttpTarget) -> Result<Self, LinkError> {
        let mut url =
            Url::parse(target.url.expose()).map_err(|error| setting("url", error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(setting("url", "it needs `http` or `https` and a host"));
        }
        url.set_fragment(None);
        let origin = url.origin().ascii_serialization();
        let http = build(target, &url, &origin)?;
        let headers = headers(target, &http, &mut url)?;
        Ok(Self { http, url, origin, headers })
    }

    /// Where the server is, without user and password.
    pub(in crate::transport) fn url(&self) -> &Url {
        &self.url
    }

    /// The headers of a request: these, and over them those of the entry.
    pub(in crate::transport) fn dressed(&self, mut ours: HeaderMap) -> HeaderMap {
        for (name, value) in &self.headers {
            ours.insert(name, value.clone());
        }
        ours
    }

    /// Sends a request and waits for the head of the response, across redirects within the origin.
    ///
    /// # Errors
    /// [`LinkError::Redirect`] for one that is not followed, [`LinkError::RedirectLoop`] for one too
    /// many; [`LinkError::Connect`] and [`LinkError::Tls`] if nothing was sent;
    /// [`LinkError::BadHttp`] if what came back is none; [`LinkError::Dropped`] if the connection
    /// broke.
    pub(in crate::transport) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: bytes::Bytes,
    ) -> Result<Response, LinkError> {
        let mut url = url.clone();
        let mut followed = 0;
        loop {
            let mut request = Request::new(method.clone(), url.clone());
            *request.headers_mut() = headers.clone();
            if !body.is_empty() {
                *request.body_mut() = Some(body.clone().into());
            }
            let response =
                self.http.execute(request).await.map_err(|error| self.failure(&error))?;
            let status = response.status().as_u16();
            if !egress::redirects(status) {
                return Ok(response);
            }
            let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            match egress::redirect(&url, to, status, method.as_str()) {
                egress::Redirect::Follow(there) if followed < REDIRECTS => url = there,
                egress::Redirect::Follow(there) => {
                    let to = egress::shown(&there);
                    return Err(LinkError::RedirectLoop { status, times: REDIRECTS, to });
                }
                egress::Redirect::Refuse(to) => return Err(LinkError::Redirect { status, to }),
            }
            followed += 1;
        }
    }

    /// What a failure to get a response means.
    fn failure(&self, error: &reqwest::Error) -> LinkError {
        let mut causes = vec![];
        let mut next = error.source();
        while let Some(cause) = next {
            causes.push(cause);
            next = cause.source();
        }
        let origin = self.origin.clone();
        let tls = causes.iter().find_map(|cause| tls_error(*cause));
        if let Some(why) = tls {
            return LinkError::Tls { origin, why };
        }
        if !error.is_connect() && !error.is_builder() {
            return causes.iter().find_map(|cause| bad_http(*cause)).unwrap_or(LinkError::Dropped);
        }
        let why = if error.is_timeout() {
            format!("no answer within {} seconds", CONNECT_LIMIT.as_secs())
        } else {
            causes.last().map_or_else(|| "failed".to_owned(), ToString::to_string)
        };
        LinkError::Connect { origin, why }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &egress::shown(&self.url)).finish_non_exhaustive()
    }
}

/// What hyper could not read: a status line, a header, too many of them.
fn bad_http(cause: &(dyn std::error::Error + 'static)) -> Option<LinkError> {
    let error = cause.downcast_ref::<hyper::Error>()?;
    error.is_parse().then(|| LinkError::BadHttp { why: error.to_string() })
}

/// An error of rustls, which I/O errors may hide inside themselves.
fn tls_error(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    match cause.downcast_ref::<rustls::Error>() {
        Some(error @ rustls::Error::InvalidCertificate(_)) => Some(format!(
            "{error} (if you trust the server, name a PEM file with its CA in `ssl_verify`)"
        )),
        Some(error) => Some(error.to_string()),
        None => tls_error(cause.downcast_ref::<std::io::Error>()?.get_ref()?),
    }
}

fn build(target: &HttpTarget, url: &Url, origin: &str) -> Result<reqwest::Client, LinkError> {
    let tls = tls::config(target, needs_tls(target, url), origin)?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("herm/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_LIMIT)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .tcp_nodelay(true);
    if is_loopback(url) {
        builder = builder.no_proxy();
    } else if let Some(proxy) = &target.proxy {
        // The error may hold the URL, and that a password.
        let proxy =
            Proxy::all(proxy.expose()).map_err(|_| setting("proxy", "it is no URL of a proxy"))?;
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| LinkError::Connect {
        origin: origin.to_owned(),
        why: error.source().map_or_else(|| "no HTTP client".to_owned(), ToString::to_string),
    })
}

/// TLS to the server, or to a proxy before it.
fn needs_tls(target: &HttpTarget, url: &Url) -> bool {
    let secure =
        |proxy: &str| proxy.trim_start().get(..6).is_some_and(|s| s.eq_ignore_ascii_case("https:"));
    if url.scheme() == "https" {
        return true;
    }
    if is_loopback(url) {
        return false;
    }
    match &target.proxy {
        Some(proxy) => secure(proxy.expose()),
        None => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .any(|proxy| secure(&proxy)),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).to_canonical().is_loopback(),
        None => false,
    }
}

/// The headers of the entry. User and password leave the URL and become one of them.
fn headers(
    target: &HttpTarget,
    http: &reqwest::Client,
    url: &mut Url,
) -> Result<HeaderMap, LinkError> {
    let mut headers = HeaderMap::new();
    if !url.username().is_empty() || url.password().is_some() {
        let probe = http.get(url.clone()).build();
        if let Some(basic) =
            probe.as_ref().ok().and_then(|r| r.headers().get(header::AUTHORIZATION))
        {
            headers.insert(header::AUTHORIZATION, secret(basic.clone()));
        }
        *url = probe.map_or_else(|_| url.clone(), |request| request.url().clone());
    }
    for (name, value) in &target.headers {
        let bad = |why: &str| setting("headers", format!("`{name}` {why}"));
        let key = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_| bad("is no name of a header"))?;
        if NOT_CONFIGURABLE.contains(&key) {
            return Err(bad("cannot be set"));
        }
        let value = HeaderValue::from_bytes(value.expose().trim().as_bytes())
            .map_err(|_| bad("has a value with control characters"))?;
        headers.insert(key, secret(value));
    }
    Ok(headers)
}

fn secret(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

fn setting(key: &'static str, why: impl Into<String>) -> LinkError {
    LinkError::Setting { key, why: why.into() }
}
