//! The port for idempotency records: a repeated request with the same `Idempotency-Key` gets the first response.

use async_trait::async_trait;

use super::StoreError;
use crate::UnixMillis;

/// The storage of idempotency records; that of a request that starts an operation is in its [`Commit`](super::Commit).
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// The record stored under `key`, however old.
    async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError>;

    /// Stores a record, unless one exists that may not be replaced; returns whether it was stored.
    async fn add_idempotency_record(&self, new: NewIdempotencyRecord) -> Result<bool, StoreError>;

    /// Removes at most `limit` records made before `before`; returns how many.
    async fn remove_idempotency_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// Identifies a request: a SHA-256 over method, path and the header `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(pub [u8; 32]);

impl IdempotencyKey {
    /// Reverses [`to_hex`](Self::to_hex).
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut key = [0; 32];
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != key.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in key.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(key))
    }

    /// The key in lower-case hex.
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }
}

/// A record to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIdempotencyRecord {
    /// The record.
    pub record: IdempotencyRecord,
    /// A record under the same key made before this time has expired and is replaced; a later one stays.
    pub replace_before: UnixMillis,
}

/// The response to a request. `Debug` omits the body, which may contain users' tokens and URLs.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// The request.
    pub key: IdempotencyKey,
    /// SHA-256 of the body's content, or of its bytes: the same key with another body is a different request.
    pub fingerprint: [u8; 32],
    /// When the response was made.
    pub at: UnixMillis,
    /// HTTP status.
    pub status: u16,
    /// The body's media type.
    pub media_type: String,
    /// The body.
    pub body: Vec<u8>,
}

usher_protocol::debug_shows!(IdempotencyRecord { status });
