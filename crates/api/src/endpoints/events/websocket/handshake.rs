//! The opening handshake (RFC 6455 section 4.2).

use axum::body::Body;
use axum::response::Response;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::header_list;
use crate::problem::{ErrorCode, Problem};

/// Why a request is no opening handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("this is a WebSocket: request an upgrade with `Connection: Upgrade` and `Upgrade: websocket`")]
    NotAnUpgrade,
    #[error("only version 13 of the WebSocket protocol is supported")]
    Version,
    #[error("`Sec-WebSocket-Key` must be 16 bytes in Base64")]
    Key,
}

impl From<HandshakeError> for Problem {
    fn from(error: HandshakeError) -> Self {
        let problem = Self::new(ErrorCode::UpgradeRequired, error.to_string());
        match error {
            // RFC 6455 section 4.4.
            HandshakeError::Version => problem.with_header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
            // RFC 9110 section 15.5.22.
            HandshakeError::NotAnUpgrade | HandshakeError::Key => {
                problem.with_header(UPGRADE, HeaderValue::from_static("websocket"))
            }
        }
    }
}

/// The response to an opening handshake.
pub(super) fn accept(method: &Method, headers: &HeaderMap) -> Result<Response, HandshakeError> {
    if method != Method::GET
        || !header_list::contains(headers, UPGRADE, b"websocket")
        || !header_list::contains(headers, CONNECTION, b"upgrade")
    {
        return Err(HandshakeError::NotAnUpgrade);
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version.as_bytes().trim_ascii() != b"13") {
        return Err(HandshakeError::Version);
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).ok_or(HandshakeError::Key)?.as_bytes();
    if !is_key(key) {
        return Err(HandshakeError::Key);
    }
    let accepted = HeaderValue::from_str(&derive_accept_key(key)).map_err(|_| HandshakeError::Key)?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    Ok(response)
}

/// Whether this is the Base64 of 16 bytes. The bytes do not matter, and neither do the two remaining bits.
fn is_key(key: &[u8]) -> bool {
    let Some(digits) = key.strip_suffix(b"==") else { return false };
    digits.len() == 22 && digits.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(byte))
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    const GOOD: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    /// The handshake with this header changed, or left out.
    fn with(name: &str, value: Option<&str>) -> Result<Response, HandshakeError> {
        let mut headers = HeaderMap::new();
        for (good, text) in GOOD {
            let text = if good == name { value } else { Some(text) };
            let Some(text) = text else { continue };
            headers.insert(HeaderName::from_static(good), HeaderValue::from_str(text).unwrap());
        }
        accept(&Method::GET, &headers)
    }

    #[test]
    fn rfc_6455_example_is_accepted() {
        let response = with("", None).unwrap();
        assert_eq!(response.status(), 101);
        assert_eq!(response.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn invalid_handshakes_are_refused() {
        use HandshakeError::{Key, NotAnUpgrade, Version};
        for (name, value, expected) in [
            ("connection", None, NotAnUpgrade),
            ("connection", Some("keep-alive"), NotAnUpgrade),
            ("connection", Some("upgrades"), NotAnUpgrade),
            ("upgrade", None, NotAnUpgrade),
            ("upgrade", Some("h2c"), NotAnUpgrade),
            ("sec-websocket-version", None, Version),
            ("sec-websocket-version", Some("8"), Version),
            ("sec-websocket-key", None, Key),
            ("sec-websocket-key", Some(""), Key),
            ("sec-websocket-key", Some("dGhlIHNhbXBsZSBub25jZQ="), Key),
            ("sec-websocket-key", Some("dGhlIHNhbXBsZSBub25jZQ!="), Key),
            ("sec-websocket-key", Some("dGhlIHNhbXBsZSBub25jZSBvZg=="), Key),
        ] {
            assert_eq!(with(name, value).map(|_| ()), Err(expected), "{name}: {value:?}");
        }
        assert_eq!(accept(&Method::HEAD, &HeaderMap::new()).map(|_| ()), Err(NotAnUpgrade));
    }
}
