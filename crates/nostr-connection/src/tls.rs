//! TLS as browsers use it.

use std::sync::Arc;

use rustls::ClientConfig;

/// The TLS configuration of [HTTP requests](usher_http_client::tls_config), which trusts the public certificate authorities.
///
/// # Errors
/// When *ring* supports none of the protocol versions.
pub fn web_tls() -> Result<Arc<ClientConfig>, rustls::Error> {
    usher_http_client::tls_config(Vec::new()).map(Arc::new)
}
