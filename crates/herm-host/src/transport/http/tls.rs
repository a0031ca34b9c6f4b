//! TLS for one target: whom it trusts and who it is.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use herm_core::config::HttpTarget;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::transport::LinkError;

/// Largest PEM file.
const PEM_MAX: u64 = 4 << 20;

/// What decides on the server's certificate.
enum Trust {
    /// Nothing is trusted: the connection is plain.
    Nobody(RootCertStore),
    /// By rules of ours.
    Rules(Arc<dyn ServerCertVerifier>),
}

/// The TLS settings of a target.
///
/// `needed` is false for a target that is reached without TLS: then the platform's roots are not
/// read, and need not exist.
pub(super) fn config(
    target: &HttpTarget,
    needed: bool,
    origin: &str,
) -> Result<ClientConfig, LinkError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = |why: String| LinkError::Tls { origin: origin.to_owned(), why };
    let trust = trust(target, needed, &provider, &tls)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| tls(error.to_string()))?;
    let builder = match trust {
        Trust::Nobody(roots) => builder.with_root_certificates(roots),
        Trust::Rules(rules) => builder.dangerous().with_custom_certificate_verifier(rules),
    };
    let mut config = match &target.identity {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let (chain, key) = identity(cert, key.as_deref())?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| setting("client_cert", cert, &error))?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn trust(
    target: &HttpTarget,
    needed: bool,
    provider: &Arc<CryptoProvider>,
    tls: &dyn Fn(String) -> LinkError,
) -> Result<Trust, LinkError> {
    let bundle = match &target.ca_file {
        Some(path) => certificates("ssl_verify", path)?,
        None => Vec::new(),
    };
    if target.dangerous_no_verify {
        let known = provider.signature_verification_algorithms;
        return Ok(Trust::Rules(Arc::new(AnyCertificate(known))));
    }
    if !needed {
        return Ok(Trust::Nobody(RootCertStore::empty()));
    }
    let rules = Verifier::new_with_extra_roots(bundle, Arc::clone(provider)).map_err(|error| {
        tls(format!(
            "no trusted certificates: {error} (install the system's CA certificates, or name a \
             PEM file in `ssl_verify`)"
        ))
    })?;
    Ok(Trust::Rules(Arc::new(rules)))
}

/// The chain and the key; both may be in the one file.
fn identity(
    cert: &str,
    key: Option<&str>,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), LinkError> {
    let chain = certificates("client_cert", cert)?;
    let (name, path) = key.map_or(("client_cert", cert), |key| ("client_key", key));
    let key = PrivateKeyDer::from_pem_slice(&read(name, path)?)
        .map_err(|error| setting(name, path, &format!("no private key in it: {error}")))?;
    Ok((chain, key))
}

fn certificates(name: &'static str, path: &str) -> Result<Vec<CertificateDer<'static>>, LinkError> {
    let pem = read(name, path)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| setting(name, path, &format!("bad PEM: {error}")))?;
    if found.is_empty() {
        return Err(setting(name, path, &"no certificate in it"));
    }
    Ok(found)
}

/// A regular file, bounded: a pipe or a device would never end.
fn read(name: &'static str, path: &str) -> Result<Vec<u8>, LinkError> {
    let fail = |error: std::io::Error| setting(name, path, &error);
    let size = std::fs::metadata(path).map_err(fail)?;
    if !size.is_file() || size.len() > PEM_MAX {
        return Err(setting(name, path, &"no file, or one over 4 MiB"));
    }
    let mut pem = Vec::new();
    File::open(path).and_then(|file| file.take(PEM_MAX).read_to_end(&mut pem)).map_err(fail)?;
    Ok(pem)
}

fn setting(key: &'static str, path: &str, why: &dyn fmt::Display) -> LinkError {
    LinkError::Setting { key, why: format!("`{path}`: {why}") }
}

/// `ssl_verify: false`: whoever holds the key of the certificate shown is believed.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
