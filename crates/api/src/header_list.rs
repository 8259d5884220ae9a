//! Headers whose value is a comma-separated list (RFC 9110 section 5.6.1).

use http::{HeaderMap, HeaderName};

/// Whether the header lists this token, in either case.
pub(crate) fn contains(headers: &HeaderMap, name: HeaderName, token: &[u8]) -> bool {
    let values = headers.get_all(name).into_iter();
    values
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}
