//! Request ids, which identify the log lines of a request.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use usher_engine::ports::Randomness;

/// The header of requests and responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id accepted from a client: enough for UUID, ULID and trace ids, too short to fill the log.
const MAX_ID_CHARS: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    /// The client's id if it consists of 1 to 128 letters, digits and `-_.:/+=@~`, so that it cannot resemble other
    /// fields of a log line; otherwise a random one.
    pub(crate) fn of(headers: &HeaderMap, randomness: &dyn Randomness) -> Self {
        let given = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
        match given {
            Some(id) if (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(is_of_id) => Self(id.into()),
            _ => Self::random(randomness),
        }
    }

    fn random(randomness: &dyn Randomness) -> Self {
        let mut bytes = [0; 16];
        randomness.fill(&mut bytes);
        Self(hex::encode(bytes).into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The header value. Never `None`: the id is visible ASCII.
    pub(crate) fn to_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.:/+=@~".contains(&byte)
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use usher_testing::ports::Always;

    use super::*;

    fn of(value: &[u8]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(X_REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        RequestId::of(&headers, &Always(7)).as_str().to_owned()
    }

    const MADE: &str = "07070707070707070707070707070707";

    #[test]
    fn client_id_is_used_only_if_safe_to_log() {
        assert_eq!(of(b"order-42/try:1"), "order-42/try:1");
        assert_eq!(of(&[b'x'; 128]), "x".repeat(128));
        for unfit in [
            &b""[..],
            b"two words",
            b"tab\there",
            "naïve".as_bytes(),
            &[b'x'; 129],
            b"x}:usher_engine::paid{a",
            b"x\"status\":200",
            b"x,status=200",
        ] {
            assert_eq!(of(unfit), MADE, "{unfit:?}");
        }
        assert_eq!(RequestId::of(&HeaderMap::new(), &Always(7)).as_str(), MADE);
    }
}
