//! Reading the `Idempotency-Key` header.

use http::{HeaderMap, HeaderName};

use usher_engine::FieldError;

/// The header with which a client ensures that a repeated request is processed only once.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

const MAX_KEY_CHARS: usize = 255;

/// The key of a request; `None` without the header. It is a string of structured fields (RFC 8941 section 3.3.3:
/// `"8e03…"`), or bare; both have the same meaning. Errors do not quote it.
pub(super) fn read(headers: &HeaderMap) -> Result<Option<String>, FieldError> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let wrong = |detail: String| FieldError { pointer: "/Idempotency-Key".to_owned(), detail };
    if values.next().is_some() {
        return Err(wrong("is given more than once".to_owned()));
    }
    parse(value.as_bytes()).map(Some).ok_or_else(|| {
        wrong(format!("must be 1 to {MAX_KEY_CHARS} visible ASCII characters, as they are or in double quotes"))
    })
}

fn parse(value: &[u8]) -> Option<String> {
    let key = match value.trim_ascii() {
        [b'"', quoted @ ..] => unquote(quoted.strip_suffix(b"\"")?)?,
        bare => String::from_utf8(bare.to_vec()).ok()?,
    };
    let fits = (1..=MAX_KEY_CHARS).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(key)
}

/// The text between the quotes, where a backslash escapes a quote or a backslash.
fn unquote(quoted: &[u8]) -> Option<String> {
    let mut key = String::with_capacity(quoted.len());
    let mut bytes = quoted.iter();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'"' => return None,
            b'\\' => bytes.next().filter(|escaped| b"\"\\".contains(escaped))?,
            byte => byte,
        };
        key.push(char::from(*byte));
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn quoted_and_bare_keys_are_equal() {
        for (value, key) in [
            ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
            ("\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
            ("  x ", "x"),
            (r#""a\"b\\c""#, r#"a"b\c"#),
            (r#"a"b\c"#, r#"a"b\c"#),
        ] {
            assert_eq!(parse(value.as_bytes()).as_deref(), Some(key), "{value}");
        }
        assert_eq!(parse("x".repeat(255).as_bytes()).map(|key| key.len()), Some(255));
        assert_eq!(parse(format!("\"{}\"", "x".repeat(255)).as_bytes()).map(|key| key.len()), Some(255));
    }

    #[test]
    fn invalid_keys_are_refused() {
        let long = "x".repeat(256);
        for value in
            ["", "  ", "\"", "\"\"", "\"x", "\"x\"y", "\"x\";a=1", r#""a\b""#, r#""a\""#, "a b", "\"a b\"", "é", &long]
        {
            assert_eq!(parse(value.as_bytes()), None, "{value}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(read(&headers), Ok(None));
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_static("a"));
        assert_eq!(read(&headers), Ok(Some("a".to_owned())));
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_static("a"));
        assert!(read(&headers).is_err());
    }
}
