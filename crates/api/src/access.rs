//! Who may call: the bearer token.

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::problem::{ErrorCode, Problem};

/// Compares bearer tokens with the configured one.
///
/// It keeps and compares SHA-256 digests: they are equally long whatever was sent, so the time a comparison takes
/// says nothing about the token, not even its length.
pub(crate) struct TokenCheck([u8; 32]);

impl TokenCheck {
    /// Checks for `token`.
    pub(crate) fn new(token: &SecretString) -> Self {
        Self(Sha256::digest(token.expose_secret()).into())
    }

    /// Passes when the headers carry the token.
    ///
    /// # Errors
    /// `unauthorized`, with the challenge of RFC 6750 section 3.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(token) = bearer(headers) else {
            return Err(refusal(
                "send the header `Authorization: Bearer <token>` with the service's auth.auth_token",
                HeaderValue::from_static("Bearer realm=\"usher\""),
            ));
        };
        self.admit_token(token)
    }

    /// Passes when this is the token.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub(crate) fn admit_token(&self, token: &[u8]) -> Result<(), Problem> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        if bool::from(digest.ct_eq(&self.0)) {
            return Ok(());
        }
        Err(refusal(
            "the token is not the service's auth.auth_token",
            HeaderValue::from_static("Bearer realm=\"usher\", error=\"invalid_token\""),
        ))
    }
}

fn refusal(detail: &'static str, challenge: HeaderValue) -> Problem {
    Problem::new(ErrorCode::Unauthorized, detail).with_header(WWW_AUTHENTICATE, challenge)
}

/// The token of the one `Authorization` header there must be.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.as_bytes().split_at_checked("bearer ".len())?;
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let token = token.trim_ascii();
    (!token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        TokenCheck::new(&SecretString::from("s3cret token")).admit(&headers).is_ok()
    }

    #[test]
    fn only_the_token_admits() {
        assert!(admits(&["Bearer s3cret token"]));
        assert!(admits(&["bearer s3cret token"]), "scheme names are case-insensitive (RFC 9110 section 11.1)");
        assert!(admits(&["BEARER   s3cret token "]));
        for wrong in [
            &[][..],
            &[""],
            &["Bearer"],
            &["Bearer "],
            &["Bearer s3cret"],
            &["Bearer s3cret token2"],
            &["Bearer S3CRET TOKEN"],
            &["s3cret token"],
            &["Basic s3cret token"],
            &["Bearers3cret token"],
            &["Bearer s3cret token", "Bearer s3cret token"],
        ] {
            assert!(!admits(wrong), "{wrong:?}");
        }
    }
}
