//! The port of the audit log: who changed what. Its entries are chained: none can be changed, removed or added without the key.
//!
//! ```text
//! link 0 ──▶ hash 1 ──▶ link 1 ──▶ hash 2 ──▶ link 2 …      hash n = HMAC(key, link n-1, n, entry n)
//!                                                           link n = HMAC(key, n, hash n)
//! ```
//!
//! The hashes are stored with the entries; of the links only the one before the oldest entry and the one after the newest. Whoever
//! has the database and not the key knows no other link, so the log can neither be cut at an end nor continued. The one before the
//! oldest entry is stored under a mask, so that no other link, such as the one after the newest entry, can take its place.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use hmac::{Hmac, Mac as _};
use serde_json::{Map, Value};
use sha2::Sha256;

use super::{Commit, StoreError};
use crate::UnixMillis;

/// What reads the audit log.
#[async_trait]
pub trait AuditReader: Send + Sync {
    /// Entries with a greater number than `after`, in order, at most `limit`. Of a damaged one what can be read: it fails
    /// verification.
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError>;

    /// Where the chain begins and continues. A damaged bound is [unknown](AuditLink::unknown).
    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError>;
}

/// What keeps the audit log. An entry that belongs to a commit comes with it ([`Commit::audit`](super::Commit::audit)).
#[async_trait]
pub trait AuditStore: AuditReader {
    /// Adds an entry after the newest one; afterwards it is on disk.
    async fn add_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError>;

    /// Removes the oldest entries, up to the first that was made at `before` or later or that does not follow from the one before it,
    /// at most `limit`; returns how many.
    async fn forget_audit_entries(&self, before: UnixMillis, limit: usize, key: &AuditKey)
    -> Result<usize, StoreError>;
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// When.
    pub at: UnixMillis,
    /// Who: `token`, or a key's id.
    pub actor: String,
    /// From which address; empty if unknown.
    pub address: String,
    /// What was done: the `operationId` of the OpenAPI document.
    pub action: String,
    /// On what, as a JSON object.
    pub details: String,
    /// What came of it: `ok`, `begun`, or an error code.
    pub outcome: String,
    /// The id of the request.
    pub request_id: String,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, from 1 without gaps.
    pub sequence: u64,
    /// What it says.
    pub record: AuditRecord,
    /// Its hash; zeros if it is damaged.
    pub hash: [u8; 32],
}

/// A place between two entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuditLink {
    /// The number of the entry before it; 0: the beginning.
    pub sequence: u64,
    /// What the hash of the entry after it depends on.
    pub link: [u8; 32],
}

impl AuditLink {
    /// The beginning of a log.
    pub const START: Self = Self { sequence: 0, link: [0; 32] };

    /// After an entry of which nothing more is known: what follows fails verification.
    pub const fn unknown(sequence: u64) -> Self {
        Self { sequence, link: [0xFF; 32] }
    }
}

impl fmt::Debug for AuditLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLink").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

/// Where the log begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditBounds {
    /// Before the oldest entry that is kept, [masked](AuditKey::masked).
    pub first: AuditLink,
    /// After the newest one.
    pub last: AuditLink,
}

/// An entry to add, with the key that chains it.
#[derive(Clone, Debug)]
pub struct NewAuditEntry {
    /// As in [`AuditRecord`], without details.
    pub record: AuditRecord,
    /// On what; becomes [`AuditRecord::details`].
    pub details: Map<String, Value>,
    /// The key.
    pub key: AuditKey,
}

impl NewAuditEntry {
    /// This entry, with the operation that the commit changes, and the amount of the payment that it is, if it is one.
    #[must_use]
    pub fn about(mut self, commit: &Commit) -> Self {
        self.details.insert("stream_id".to_owned(), commit.operation.to_string().into());
        if let Some(payment) = &commit.payment_record {
            self.details.insert("amount_millisats".to_owned(), payment.amount.into());
        }
        self
    }

    /// The entry after this place, and the place after the entry.
    pub fn chained(&self, last: &AuditLink) -> (AuditEntry, AuditLink) {
        let sequence = last.sequence.saturating_add(1);
        let mut record = self.record.clone();
        // Maps of text and numbers: it cannot fail.
        record.details = serde_json::to_string(&self.details).unwrap_or_default();
        let hash = self.key.hash(&last.link, sequence, &record);
        (AuditEntry { sequence, record, hash }, self.key.link(sequence, &hash))
    }
}

/// The key of the chain.
#[derive(Clone)]
pub struct AuditKey(Arc<Hmac<Sha256>>);

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey(…)")
    }
}

impl AuditKey {
    /// The key that belongs to a service's private key: HKDF-Expand of RFC 5869 with SHA-256. The private key is uniformly random,
    /// so that nothing has to be extracted (section 3.3).
    pub fn of_service(private_key: &[u8; 32]) -> Self {
        let mut expand = keyed(private_key);
        expand.update(b"usher: audit log");
        expand.update(&[1]);
        Self(Arc::new(keyed(&expand.finalize().into_bytes())))
    }

    /// The hash of an entry after this link. Each text is preceded by its length, so that two entries never look the same.
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

    /// The [beginning](AuditBounds::first), as it is stored, after the last of these entries that was made before `before`, as all
    /// before it. None of them is one that does not follow from the one before it: with a changed time, somebody could have it
    /// removed.
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

    /// A beginning as it is stored, from the place that it is; and the place, from what is stored.
    pub fn masked(&self, place: &AuditLink) -> AuditLink {
        // Before the first entry there is nothing to hide.
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

    /// The place after an entry.
    pub fn link(&self, sequence: u64, hash: &[u8; 32]) -> AuditLink {
        let mut mac = (*self.0).clone();
        mac.update(b"link.");
        mac.update(&sequence.to_be_bytes());
        mac.update(hash);
        AuditLink { sequence, link: mac.finalize().into_bytes().into() }
    }
}

/// A key of any length is one: the error never comes.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    Hmac::new(&block)
}
