//! The OpenID Connect control port: consents and signing keys, managed while the service runs.

use async_trait::async_trait;
use usher_protocol::PublicKey;

use super::{OpenIdConsent, StoreError};
use crate::UnixMillis;

/// Shows and revokes what users agreed to give apps, and shows, rotates and revokes the keys that sign ID tokens.
#[async_trait]
pub trait OpenIdControl: Send + Sync {
    /// Consents in the order of client and user, after `after` (a client and a user), at most `limit`.
    ///
    /// # Errors
    /// When the store fails.
    async fn consents(&self, after: Option<(String, String)>, limit: usize) -> Result<Vec<OpenIdConsent>, StoreError>;

    /// Revokes a consent and this client's codes and tokens for this user; durable. Returns whether there was one.
    ///
    /// # Errors
    /// When the store fails.
    async fn revoke_consent(&self, client_id: &str, user: PublicKey) -> Result<bool, StoreError>;

    /// The signing keys, the newest first.
    fn keys(&self) -> Vec<OpenIdKey>;

    /// Makes new signing keys, durable when this returns; the last ones stay published for a day. Returns all keys.
    ///
    /// # Errors
    /// [`OpenIdKeyError`]; then the last keys go on signing.
    async fn rotate_keys(&self) -> Result<Vec<OpenIdKey>, OpenIdKeyError>;

    /// Removes a signing key that somebody else has: it is published no more, and nothing that it has signed is believed. If it
    /// signs, a new one takes its place. Durable when this returns. Returns all keys; `None` when there is no such key.
    ///
    /// # Errors
    /// [`OpenIdKeyError`]; then the key stays.
    async fn revoke_key(&self, kid: &str) -> Result<Option<Vec<OpenIdKey>>, OpenIdKeyError>;
}

/// A key that signs ID tokens, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIdKey {
    /// Its identifier, the `kid` of ID tokens.
    pub kid: String,
    /// What it signs with: its `alg` (RFC 7518).
    pub algorithm: &'static str,
    /// When it was made.
    pub made_at: UnixMillis,
    /// When it was rotated out; it signs nothing any more.
    pub retired_at: Option<UnixMillis>,
}

/// Why keys cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdKeyError {
    /// They cannot be stored or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored key is damaged.
    #[error("a stored signing key of the OpenID Connect provider is damaged")]
    Damaged,
    /// No key could be made, or it does not sign.
    #[error("a signing key of the OpenID Connect provider cannot be made or used")]
    Crypto,
}
