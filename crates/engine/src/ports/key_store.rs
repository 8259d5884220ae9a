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
    /// A new one from a time in Unix milliseconds and 10 random bytes.
    pub fn from_parts(unix_millis: u64, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(unix_millis, &random).into_uuid())
    }

    /// The identifier whose bytes these are (as stored).
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The identifier's bytes; they sort by time of creation.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// What is stored with the operations that the key starts: the 62 random bits at the end of the identifier (RFC 9562 section
    /// 5.7).
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

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        Uuid::try_parse(text).map(Self)
    }
}

/// The SHA-256 digest of a secret. A plain hash is enough: the secret has 256 random bits, so nobody can try them all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretDigest(pub [u8; 32]);

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest(…)")
    }
}

/// An API key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// Its identifier.
    pub id: KeyId,
    /// The digest of its secret.
    pub digest: SecretDigest,
    /// The digest of the secret before, and until when that is accepted.
    pub previous: Option<(SecretDigest, UnixMillis)>,
    /// What it may do, as JSON.
    pub terms: String,
    /// When it was created.
    pub created_at: UnixMillis,
    /// When its secret was used last, and the one before: to the minute.
    pub used_at: [Option<UnixMillis>; 2],
}

/// Durable storage of API keys.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// All keys, the oldest first; of damaged ones, the error instead.
    async fn keys(&self) -> Result<Vec<Result<StoredKey, StoreError>>, StoreError>;

    /// Stores a key, or replaces all that is stored of it.
    async fn put_key(&self, key: StoredKey) -> Result<(), StoreError>;

    /// Removes a key; returns whether there was one.
    async fn remove_key(&self, id: KeyId) -> Result<bool, StoreError>;

    /// Stores when these keys' secrets were used last ([`StoredKey::used_at`]). A key that is gone stays gone.
    async fn note_key_uses(&self, uses: Vec<(KeyId, [Option<UnixMillis>; 2])>) -> Result<(), StoreError>;
}
