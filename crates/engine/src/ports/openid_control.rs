//! The OpenID Connect control port: consents and signing keys, managed while the service runs.

use async_trait::async_trait;
use usher_protocol::PublicKey;

use super::{OpenIdConsent, StoreError};
use crate::UnixMillis;

/// Shows and revokes users' consents; shows, rotates and revokes the keys that sign ID tokens.
#[async_trait]
pub trait OpenIdControl: Send + Sync {
    /// At most `limit` consents after `after` (a client and a user), in the order of client and user.
    ///
    /// # Errors
    /// If the store fails.
    async fn consents(&self, after: Option<(String, String)>, limit: usize) -> Result<Vec<OpenIdConsent>, StoreError>;

    /// Revokes a consent and this client's codes and tokens for this user; durable. Returns whether there was one.
    ///
    /// # Errors
    /// If the store fails.
    async fn revoke_consent(&self, client_id: &str, user: PublicKey) -> Result<bool, StoreError>;

    /// The signing keys, newest first.
    fn keys(&self) -> Vec<OpenIdKey>;

    /// Generates new signing keys, durable when this returns; the previous ones stay published for a day. Returns all
    /// keys.
    ///
    /// # Errors
    /// [`OpenIdKeyError`]; the previous keys then continue to sign.
    async fn rotate_keys(&self) -> Result<Vec<OpenIdKey>, OpenIdKeyError>;

    /// Removes a compromised signing key: it is no longer published, and nothing signed with it is accepted. If it is
    /// in use, a new one replaces it. Durable when this returns. Returns all keys; `None` if there is no such key.
    ///
    /// # Errors
    /// [`OpenIdKeyError`]; the key then stays.
    async fn revoke_key(&self, kid: &str) -> Result<Option<Vec<OpenIdKey>>, OpenIdKeyError>;
}

/// A key that signs ID tokens, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIdKey {
    /// Its identifier, the `kid` of ID tokens.
    pub kid: String,
    /// Its algorithm: the `alg` of RFC 7518.
    pub algorithm: &'static str,
    /// When it was generated.
    pub made_at: UnixMillis,
    /// When it was rotated; it no longer signs then.
    pub retired_at: Option<UnixMillis>,
}

/// Why keys cannot be read or generated.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdKeyError {
    /// They cannot be stored or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored key is damaged.
    #[error("a stored signing key of the OpenID Connect provider is damaged")]
    Damaged,
    /// Key generation failed, or the key cannot sign.
    #[error("a signing key of the OpenID Connect provider cannot be made or used")]
    Crypto,
}
