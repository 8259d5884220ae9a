//! Secrets of 256 bits, and the key that makes those of tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::hmac;
use sha2::{Digest as _, Sha256};
use usher_engine::ports::OpenIdRecordId;

/// A secret held by a browser or client. It has no `Debug`.
pub(crate) struct Secret(String);

impl Secret {
    /// The secret of these random bytes.
    pub(crate) fn new(bytes: [u8; 32]) -> Self {
        Self(BASE64URL.encode(bytes))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn id(&self) -> OpenIdRecordId {
        record_id(&self.0)
    }
}

/// The id under which the store knows this secret.
pub(crate) fn record_id(secret: &str) -> OpenIdRecordId {
    OpenIdRecordId(Sha256::digest(secret).into())
}

/// Derives the tokens issued for a code or refresh token.
#[derive(Clone, Debug)]
pub struct TokenKey(hmac::Key);

impl TokenKey {
    /// The key derived from `secret`. After a change of the secret, a refresh token used a moment ago cannot be used
    /// again.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// A secret of 256 bits, derived from `of`.
    pub(crate) fn derive(&self, purpose: &str, of: &str) -> Secret {
        Secret(BASE64URL.encode(hmac::sign(&self.0, format!("{purpose}\0{of}").as_bytes())))
    }
}
