//! The OpenID Connect control port: clients, consents and signing keys, managed while the service runs.

use async_trait::async_trait;
use usher_protocol::PublicKey;

use super::{OpenIdConsent, StoreError};
use crate::{FieldError, UnixMillis};

/// Shows and changes clients; shows and revokes users' consents; shows, rotates and revokes the keys that sign ID tokens.
#[async_trait]
pub trait OpenIdControl: Send + Sync {
    /// Whether there is a client: otherwise the service is no provider.
    fn is_on(&self) -> bool;

    /// The clients: first those of the configuration, then the stored ones, by id.
    fn clients(&self) -> Vec<OpenIdClient>;

    /// Stores a client, which can be used when this returns. Its secret, unless it is public, is returned this once.
    ///
    /// # Errors
    /// [`OpenIdClientError`]; nothing is stored then.
    async fn create_client(&self, new: NewOpenIdClient) -> Result<(OpenIdClient, Option<String>), OpenIdClientError>;

    /// Changes a stored client. Requests and codes end if redirect URIs change; with a new secret, the previous one is
    /// refused. Returns the client and a new secret.
    ///
    /// # Errors
    /// [`OpenIdClientError`]; nothing is changed then.
    async fn change_client(
        &self,
        client_id: &str,
        change: OpenIdClientFields,
        rotates_secret: bool,
    ) -> Result<(OpenIdClient, Option<String>), OpenIdClientError>;

    /// Deletes a stored client, with its requests, codes, tokens and users' consents.
    async fn delete_client(&self, client_id: &str) -> Result<(), OpenIdClientError>;

    /// At most `limit` consents after `after` (a client and a user), in the order of client and user.
    async fn consents(&self, after: Option<(String, String)>, limit: usize) -> Result<Vec<OpenIdConsent>, StoreError>;

    /// Revokes a consent and this client's codes and tokens for this user; durable. Returns whether there was one.
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

/// A client: an app that logs users in, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIdClient {
    /// Its identifier.
    pub client_id: String,
    /// The name that users see.
    pub name: String,
    /// Whether it has no secret.
    pub is_public: bool,
    /// Where users may be redirected.
    pub redirect_uris: Vec<String>,
    /// Where users may be redirected after logging out.
    pub post_logout_redirect_uris: Vec<String>,
    /// Whether it must use PKCE.
    pub require_pkce: bool,
    /// The algorithm of its ID tokens: the `alg` of RFC 7518.
    pub algorithm: &'static str,
    /// When it was stored; `None`: it is of the configuration.
    pub created_at: Option<UnixMillis>,
}

/// A client to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOpenIdClient {
    /// Its identifier; by default a random one.
    pub client_id: Option<String>,
    /// Whether it has no secret.
    pub is_public: bool,
    /// The rest, with defaults for what is `None`.
    pub fields: OpenIdClientFields,
}

/// What can be changed of a client; `None` for what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenIdClientFields {
    /// [`OpenIdClient::name`].
    pub name: Option<String>,
    /// [`OpenIdClient::redirect_uris`].
    pub redirect_uris: Option<Vec<String>>,
    /// [`OpenIdClient::post_logout_redirect_uris`].
    pub post_logout_redirect_uris: Option<Vec<String>>,
    /// [`OpenIdClient::require_pkce`].
    pub require_pkce: Option<bool>,
    /// [`OpenIdClient::algorithm`].
    pub algorithm: Option<&'static str>,
}

/// Why a client is not stored, changed or deleted.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdClientError {
    /// There is none with this id.
    #[error("there is no such client")]
    NotFound,
    /// It is of the configuration, which only the operator changes.
    #[error("the client is of the configuration")]
    Configured,
    /// Invalid fields.
    #[error("some fields are invalid")]
    Refused(Vec<FieldError>),
    /// It could not be stored, or there is no key that signs its ID tokens.
    #[error(transparent)]
    Keys(#[from] OpenIdKeyError),
}

impl From<StoreError> for OpenIdClientError {
    fn from(error: StoreError) -> Self {
        Self::Keys(error.into())
    }
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
    /// The stored clients are damaged.
    #[error("the stored clients of the OpenID Connect provider are damaged")]
    DamagedClients,
    /// Key generation failed, or the key cannot sign.
    #[error("a signing key of the OpenID Connect provider cannot be made or used")]
    Crypto,
}
