use std::sync::{Arc, LazyLock};

use rustls::ClientConfig;

/// The TLS configuration of [HTTP requests](usher_http_client::tls_config), which trusts the public certificate authorities.
static WEB: LazyLock<Result<Arc<ClientConfig>, rustls::Error>> =
    LazyLock::new(|| usher_http_client::tls_config(Vec::new()).map(Arc::new));

/// The TLS configuration of relays, created once.
///
/// # Errors
/// When *ring* supports none of the protocol versions.
pub fn web_tls() -> Result<Arc<ClientConfig>, rustls::Error> {
    WEB.clone()
}
