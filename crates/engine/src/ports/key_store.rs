use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreError;
use crate::{Origin, UnixMillis};

/// Identifies an API key: a UUIDv7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Uuid);

impl KeyId {
    /// A new id from a time in Unix milliseconds and 10 random bytes.
    pub fn from_parts(unix_millis: u64, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(unix_millis, &random).into_uuid())
    }

    /// The id with these stored bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The identifier's bytes; they sort by time of creation.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The origin stored with operations started by the key: the last 62 random bits of the id (RFC 9562 section 5.7).
    pub fn origin(&self) -> Origin {
        const RANDOM: u64 = (1 << 62) - 1;
        let (_, low) = self.0.as_u64_pair();
        Origin((low & RANDOM).cast_signed())
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

usher_protocol::debug_shows!(KeyId as Display);

impl FromStr for KeyId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        Uuid::try_parse(text).map(Self)
    }
}

/// The SHA-256 digest of a secret. A plain hash suffices, because the secret has 256 random bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretDigest(pub [u8; 32]);

usher_protocol::debug_shows!(SecretDigest(..));

/// A stored API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// Its identifier.
    pub id: KeyId,
    /// The digest of its secret.
    pub digest: SecretDigest,
    /// The digest of the previous secret, and until when it is accepted.
    pub previous: Option<(SecretDigest, UnixMillis)>,
    /// Its permissions and limits, as JSON.
    pub terms: String,
    /// When it was created.
    pub created_at: UnixMillis,
    /// When its secret and its previous secret were last used, to the minute.
    pub used_at: [Option<UnixMillis>; 2],
}

/// Durable storage of API keys.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// All keys, oldest first; an error for a damaged one.
    async fn keys(&self) -> Result<Vec<Result<StoredKey, StoreError>>, StoreError>;

    /// Stores a key, replacing all its data.
    async fn put_key(&self, key: StoredKey) -> Result<(), StoreError>;

    /// Removes a key; returns whether there was one.
    async fn remove_key(&self, id: KeyId) -> Result<bool, StoreError>;

    /// Stores when these keys' secrets were last used ([`StoredKey::used_at`]). A removed key stays removed.
    async fn note_key_uses(&self, uses: Vec<(KeyId, [Option<UnixMillis>; 2])>) -> Result<(), StoreError>;
}
