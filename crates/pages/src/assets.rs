//! The script that the pages load: one file, so that a page needs one more request. The script for passkeys is loaded
//! on demand.

use std::io::{self, Write as _};
use std::sync::LazyLock;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

const PAGE_SCRIPT: &str = concat!(
    include_str!("../assets/wait.js"),
    include_str!("../assets/clock.js"),
    include_str!("../assets/extension_and_passkey.js"),
    include_str!("../assets/payment.js"),
);
const PASSKEY_SCRIPT: &str = include_str!("../assets/passkey.js");

/// `GET /pages/assets/page.js`: the concatenated parts, which share one scope.
pub(crate) async fn page_script() -> Response {
    script(PAGE_SCRIPT)
}

/// `GET /pages/assets/passkey.js`: the compressed bundle of `passkey-script`, loaded on demand.
pub(crate) async fn passkey_script(headers: HeaderMap) -> Response {
    static COMPRESSED: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| compress(PASSKEY_SCRIPT.as_bytes()).ok());
    compressible(script(PASSKEY_SCRIPT), COMPRESSED.as_deref(), &headers)
}

/// The response with the compressed content in place of its own, for a browser that accepts it.
pub(crate) fn compressible(mut response: Response, compressed: Option<&'static [u8]>, request: &HeaderMap) -> Response {
    if let Some(compressed) = compressed.filter(|_| accepts_gzip(request)) {
        *response.body_mut() = Body::from(compressed);
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| coding.trim() == "gzip")
}

pub(crate) fn compress(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

fn script(content: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, content).into_response()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// The served bundle is the reviewed one: `npm run check --prefix crates/pages/passkey-script` rebuilds it.
    #[test]
    fn passkey_script_is_the_one_that_was_made_and_is_small() {
        let digest = Sha256::digest(PASSKEY_SCRIPT).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(digest, include_str!("../assets/passkey.js.sha256").trim());
        assert!(PASSKEY_SCRIPT.len() < 80_000, "{} bytes", PASSKEY_SCRIPT.len());
        let compressed = compress(PASSKEY_SCRIPT.as_bytes()).unwrap();
        assert!(compressed.len() < 32_000, "{} bytes", compressed.len());
        for forbidden in ["eval(", "new Function", "innerHTML", "https://", "document.write", "sessionStorage"] {
            assert!(!PASSKEY_SCRIPT.contains(forbidden), "{forbidden}");
        }
    }
}
