//! The port of the audit log, which records changes. Its entries are chained: none can be changed, removed or added
//! without the key.
//!
//! ```text
//! link 0 ──▶ hash 1 ──▶ link 1 ──▶ hash 2 ──▶ link 2 …      hash n = HMAC(key, link n-1, n, entry n)
//!                                                           link n = HMAC(key, n, hash n)
//! ```
//!
//! The hashes are stored with the entries, but only two links: those before the oldest entry and after the newest. An
//! attacker with the database but without the key knows no other link, so the log can neither be cut at an end nor
//! continued. The link before the oldest entry is masked, so that no other link, such as the last one, can replace it.

use std::sync::Arc;

use async_trait::async_trait;
use hmac::{Hmac, Mac as _};
use serde_json::{Map, Value};
use sha2::Sha256;

use super::StoreError;
use crate::UnixMillis;

/// Reads the audit log.
#[async_trait]
pub trait AuditReader: Send + Sync {
    /// At most `limit` entries after number `after`, in order. A damaged entry is returned as far as it can be read,
    /// and fails verification.
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError>;

    /// The start and end of the chain. A damaged one is [unknown](AuditLink::unknown).
    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError>;
}

/// Stores the audit log. The entry of a commit is stored with it ([`Commit::audit`](super::Commit::audit)).
#[async_trait]
pub trait AuditStore: AuditReader {
    /// Durably adds an entry after the newest one.
    async fn add_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError>;

    /// Removes the oldest entries, at most `limit`, up to the first that was made at `before` or later or does not
    /// follow from the previous one; returns how many.
    async fn forget_audit_entries(&self, before: UnixMillis, limit: usize, key: &AuditKey)
    -> Result<usize, StoreError>;
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// The time.
    pub at: UnixMillis,
    /// The actor: `token`, or a key's id.
    pub actor: String,
    /// The client's address; empty if unknown.
    pub address: String,
    /// The action: the `operationId` of the OpenAPI document.
    pub action: String,
    /// The details, as a JSON object.
    pub details: String,
    /// The outcome: `ok`, `begun`, or an error code.
    pub outcome: String,
    /// The id of the request.
    pub request_id: String,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, from 1 without gaps.
    pub sequence: u64,
    /// Its content.
    pub record: AuditRecord,
    /// Its hash; zeros if it is damaged.
    pub hash: [u8; 32],
}

/// A position between two entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuditLink {
    /// The number of the entry before it; 0 at the start.
    pub sequence: u64,
    /// The secret that the hash of the next entry depends on.
    pub link: [u8; 32],
}

impl AuditLink {
    /// The start of a log.
    pub const START: Self = Self { sequence: 0, link: [0; 32] };

    /// After an entry of which nothing else is known: later entries fail verification.
    pub const fn unknown(sequence: u64) -> Self {
        Self { sequence, link: [0xFF; 32] }
    }
}

usher_protocol::debug_shows!(AuditLink { sequence });

/// The start and end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditBounds {
    /// Before the oldest entry, [masked](AuditKey::masked).
    pub first: AuditLink,
    /// After the newest entry.
    pub last: AuditLink,
}

/// An entry to add, with the key that chains it.
#[derive(Clone, Debug)]
pub struct NewAuditEntry {
    /// As in [`AuditRecord`], without details.
    pub record: AuditRecord,
    /// The details; stored as [`AuditRecord::details`].
    pub details: Map<String, Value>,
    /// The key.
    pub key: AuditKey,
}

impl NewAuditEntry {
    /// The entry after this position, and the next position.
    pub fn chained(&self, last: &AuditLink) -> (AuditEntry, AuditLink) {
        let sequence = last.sequence.saturating_add(1);
        let mut record = self.record.clone();
        // Cannot fail for maps of texts and numbers.
        record.details = serde_json::to_string(&self.details).unwrap_or_default();
        let hash = self.key.hash(&last.link, sequence, &record);
        (AuditEntry { sequence, record, hash }, self.key.link(sequence, &hash))
    }
}

/// The key of the chain.
#[derive(Clone)]
pub struct AuditKey(Arc<Hmac<Sha256>>);

usher_protocol::debug_shows!(AuditKey(..));

impl AuditKey {
    /// The key for a service's private key: HKDF-Expand (RFC 5869) with SHA-256. The private key is uniformly random,
    /// so that HKDF-Extract is not needed (section 3.3).
    pub fn of_service(private_key: &[u8; 32]) -> Self {
        let mut expand = keyed(private_key);
        expand.update(b"usher: audit log");
        expand.update(&[1]);
        Self(Arc::new(keyed(&expand.finalize().into_bytes())))
    }

    /// The hash of an entry after this link. Each text is preceded by its length, so that different entries have
    /// different inputs.
    pub fn hash(&self, link: &[u8; 32], sequence: u64, record: &AuditRecord) -> [u8; 32] {
        let AuditRecord { at, actor, address, action, details, outcome, request_id } = record;
        let mut mac = (*self.0).clone();
        mac.update(b"entry");
        mac.update(link);
        mac.update(&sequence.to_be_bytes());
        mac.update(&at.0.to_be_bytes());
        for text in [actor, address, action, details, outcome, request_id] {
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }

    /// The stored [start](AuditBounds::first) after the last of these entries that was made before `before`, along with
    /// all earlier ones. It stops at an entry that does not follow from the previous one: otherwise somebody could have
    /// an entry removed by changing its time.
    pub fn after_old(&self, first: &AuditLink, entries: &[AuditEntry], before: UnixMillis) -> AuditLink {
        let mut after = self.masked(first);
        for AuditEntry { sequence, record, hash } in entries {
            let follows = *sequence == after.sequence.saturating_add(1);
            if record.at >= before || !follows || self.hash(&after.link, *sequence, record) != *hash {
                break;
            }
            after = self.link(*sequence, hash);
        }
        self.masked(&after)
    }

    /// Masks or unmasks the start of the log.
    pub fn masked(&self, place: &AuditLink) -> AuditLink {
        // Before the first entry there is nothing to mask.
        if place.sequence == 0 {
            return *place;
        }
        let mut mac = (*self.0).clone();
        mac.update(b"first");
        mac.update(&place.sequence.to_be_bytes());
        let mut masked = *place;
        for (byte, mask) in masked.link.iter_mut().zip(mac.finalize().into_bytes()) {
            *byte ^= mask;
        }
        masked
    }

    /// The position after an entry.
    pub fn link(&self, sequence: u64, hash: &[u8; 32]) -> AuditLink {
        let mut mac = (*self.0).clone();
        mac.update(b"link.");
        mac.update(&sequence.to_be_bytes());
        mac.update(hash);
        AuditLink { sequence, link: mac.finalize().into_bytes().into() }
    }
}

/// Keys may have any length, so this cannot fail.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    Hmac::new(&block)
}
