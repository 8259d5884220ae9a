//! Verifies the chain of the audit log from its start to its end, and reports the first invalid entry.

use std::fmt;
use std::str::FromStr;

use crate::ports::{AuditEntry, AuditKey, AuditLink, AuditReader, StoreError};

/// Entries read at a time.
const PAGE: usize = 1_000;

/// The newest entry of a log, to be noted elsewhere: a log older than the note was rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// Its number.
    pub sequence: u64,
    /// Its hash.
    pub hash: [u8; 32],
}

impl From<&AuditEntry> for AuditHead {
    fn from(entry: &AuditEntry) -> Self {
        Self { sequence: entry.sequence, hash: entry.hash }
    }
}

/// The form in the log: the number and the hash in hex, separated by a colon.
impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sequence, hex::encode(self.hash))
    }
}

impl FromStr for AuditHead {
    type Err = InvalidAuditHead;

    fn from_str(text: &str) -> Result<Self, InvalidAuditHead> {
        let (sequence, hash) = text.split_once(':').ok_or(InvalidAuditHead)?;
        let sequence = sequence.parse().map_err(|_| InvalidAuditHead)?;
        if hash.len() != 64 || !hash.is_ascii() {
            return Err(InvalidAuditHead);
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = hash.get(index * 2..index * 2 + 2).ok_or(InvalidAuditHead)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| InvalidAuditHead)?;
        }
        Ok(Self { sequence, hash: bytes })
    }
}

/// A text that is not a head.
#[derive(Debug, thiserror::Error)]
#[error("must be a number, a colon, and 64 hex digits")]
pub struct InvalidAuditHead;

/// A fault in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// This entry is missing.
    #[error("entry {0} is missing")]
    Missing(u64),
    /// This entry has the number of an entry that was removed after its retention.
    #[error("entry {0} was added: those up to {1} were removed after their retention")]
    Added(u64, u64),
    /// This entry does not follow from the previous one.
    #[error("entry {0} is not what was written: it, or its place, was changed, or the log has another service's key")]
    Changed(u64),
    /// Entries at the end are missing.
    #[error("entries {0} to {1} are missing at the end")]
    CutAtEnd(u64, u64),
    /// The entries are valid, but the stored end is not.
    #[error("the stored end of the chain does not follow from entry {0}: it was changed")]
    End(u64),
    /// The noted entry is newer than the newest one.
    #[error(
        "the log ends before the noted entry {0}: an older state of the database has taken the place of a newer one"
    )]
    SetBack(u64),
    /// The noted entry has another hash.
    #[error("entry {0} has another hash than noted: since an older state of the database, the log went on differently")]
    Rewritten(u64),
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditVerification {
    /// The number of the entry before the oldest one: this many were removed after their retention.
    pub removed: u64,
    /// The newest valid entry, if any.
    pub head: Option<AuditHead>,
    /// The first fault after it.
    pub fault: Option<AuditFault>,
}

/// Verifies the log. `noted` is a head that was noted elsewhere. Entries may be added, and removed after their retention, meanwhile.
///
/// # Errors
/// [`StoreError`] if the log cannot be read.
pub async fn verify(
    log: &dyn AuditReader,
    key: &AuditKey,
    noted: Option<AuditHead>,
) -> Result<AuditVerification, StoreError> {
    let mut first = log.audit_bounds().await?.first;
    loop {
        let found = verify_after(log, key, noted, first).await?;
        let begins = log.audit_bounds().await?.first;
        // Retention removed entries before they were read.
        if found.fault.is_some() && begins != first {
            first = begins;
            continue;
        }
        return Ok(found);
    }
}

async fn verify_after(
    log: &dyn AuditReader,
    key: &AuditKey,
    noted: Option<AuditHead>,
    first: AuditLink,
) -> Result<AuditVerification, StoreError> {
    let mut at = key.masked(&first);
    let mut found = AuditVerification { removed: first.sequence, head: None, fault: None };
    if let [oldest] = &*log.audit_entries(0, 1).await?
        && oldest.sequence <= first.sequence
    {
        found.fault = Some(AuditFault::Added(oldest.sequence, first.sequence));
        return Ok(found);
    }
    loop {
        let entries = log.audit_entries(at.sequence, PAGE).await?;
        for entry in &entries {
            found.fault = fault_of(key, &at, entry, noted);
            if found.fault.is_some() {
                return Ok(found);
            }
            at = key.link(entry.sequence, &entry.hash);
            found.head = Some(entry.into());
        }
        if !entries.is_empty() {
            continue;
        }
        let last = log.audit_bounds().await?.last;
        if last.sequence > at.sequence {
            // Added after the page was read, or removed.
            if log.audit_entries(at.sequence, 1).await?.is_empty() {
                found.fault = Some(AuditFault::CutAtEnd(at.sequence.saturating_add(1), last.sequence));
                return Ok(found);
            }
            continue;
        }
        found.fault = if last != at {
            Some(AuditFault::End(at.sequence))
        } else {
            noted.filter(|noted| noted.sequence > at.sequence).map(|noted| AuditFault::SetBack(noted.sequence))
        };
        return Ok(found);
    }
}

fn fault_of(key: &AuditKey, after: &AuditLink, entry: &AuditEntry, noted: Option<AuditHead>) -> Option<AuditFault> {
    let expected = after.sequence.saturating_add(1);
    if entry.sequence != expected {
        return Some(AuditFault::Missing(expected));
    }
    if key.hash(&after.link, entry.sequence, &entry.record) != entry.hash {
        return Some(AuditFault::Changed(expected));
    }
    let differs = noted.is_some_and(|noted| noted.sequence == expected && noted.hash != entry.hash);
    differs.then_some(AuditFault::Rewritten(expected))
}
