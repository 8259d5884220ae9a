//! Identifiers of operations and of their event streams.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::UnixMillis;

/// Identifies an operation and its stream of events: a UUIDv7, or a reserved name: `subscriptions` or `lightning-address`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(Uuid);

/// The text is neither a UUID nor a reserved name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a stream id")]
pub struct NotAStreamId;

impl StreamId {
    /// The reserved stream with the events of all subscriptions; it always exists.
    pub const SUBSCRIPTIONS: Self = Self(Uuid::nil());

    /// The stream of payments to the service's Lightning address, if it has one.
    pub const LIGHTNING_ADDRESS: Self = Self(Uuid::from_u128(1));

    /// A new id from a time in Unix milliseconds and 10 random bytes.
    pub fn from_parts(unix_millis: u64, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(unix_millis, &random).into_uuid())
    }

    /// The id with these stored bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The delivery queue of a subscription's events ([`Delivery::queue`](crate::ports::Delivery::queue)): a UUIDv8.
    pub fn subscription_queue(subscription_id: &str) -> Self {
        let digest: [u8; 32] =
            Sha256::new().chain_update("delivery queue\0").chain_update(subscription_id).finalize().into();
        let bytes = digest.first_chunk().copied().unwrap_or_default();
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// When it was created, by the clock at that time; the epoch for the reserved stream.
    pub fn created_at(&self) -> UnixMillis {
        // The first 48 bits of a UUIDv7.
        let [a, b, c, d, e, f, ..] = *self.as_bytes();
        UnixMillis(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The bytes of the id, which sort by time of creation.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SUBSCRIPTIONS => f.write_str("subscriptions"),
            Self::LIGHTNING_ADDRESS => f.write_str("lightning-address"),
            Self(id) => id.hyphenated().fmt(f),
        }
    }
}

usher_protocol::debug_shows!(StreamId as Display);

usher_protocol::text_in_json!(StreamId);

impl FromStr for StreamId {
    type Err = NotAStreamId;

    fn from_str(text: &str) -> Result<Self, NotAStreamId> {
        match text {
            "subscriptions" => return Ok(Self::SUBSCRIPTIONS),
            "lightning-address" => return Ok(Self::LIGHTNING_ADDRESS),
            _ => {}
        }
        // Only the canonical form: a UUID has several spellings, and a stream should have one name.
        if text.len() != 36 {
            return Err(NotAStreamId);
        }
        match Uuid::try_parse(text) {
            Ok(id) if ![Self::SUBSCRIPTIONS, Self::LIGHTNING_ADDRESS].contains(&Self(id)) => Ok(Self(id)),
            _ => Err(NotAStreamId),
        }
    }
}
