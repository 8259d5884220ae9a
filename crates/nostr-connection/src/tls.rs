//! TLS as browsers use it.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// Trusts the public certificate authorities. Uses *ring*, whichever other crypto provider is linked.
///
/// # Errors
/// When *ring* supports none of the protocol versions.
pub fn web_tls() -> Result<Arc<ClientConfig>, rustls::Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
