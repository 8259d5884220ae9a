//! The audit log of the service: adding, reading and removing entries.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Map;
use tokio::sync::Mutex;
use tracing::{info, warn};

use super::verification::{AuditHead, AuditVerification, verify};
use crate::UnixMillis;
use crate::kernel::core::Core;
use crate::kernel::observer::PeriodicTask;
use crate::ports::{AuditEntry, AuditKey, AuditRecord, NewAuditEntry, StoreError};

/// Entries removed in one transaction.
const BATCH: usize = 500;

/// How often the head is logged, in hours.
const HEAD_LOGGED_EVERY: u64 = 24;

/// Settings of the audit log.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// The key that chains entries.
    pub key: AuditKey,
    /// How long an entry is kept (`audit.retention_days`).
    pub retention: Duration,
}

/// The audit log.
pub struct AuditLog {
    pub(crate) core: Core,
    pub(crate) options: AuditOptions,
    /// Held while the log is verified: one at a time reads all of it.
    pub(crate) verifying: Mutex<()>,
}

impl AuditLog {
    /// An entry about an action that succeeds now.
    pub fn entry(&self, actor: String, address: String, action: String, request_id: String) -> NewAuditEntry {
        let (at, outcome) = (self.now(), "ok".to_owned());
        NewAuditEntry {
            record: AuditRecord { at, actor, address, action, details: String::new(), outcome, request_id },
            details: Map::new(),
            key: self.options.key.clone(),
        }
    }

    /// The current time in the precision of entries.
    pub fn now(&self) -> UnixMillis {
        self.core.clock.now()
    }

    /// Durably adds an entry outside a commit.
    pub async fn add(&self, entry: NewAuditEntry) -> Result<(), StoreError> {
        self.core.store.add_audit_entry(entry).await
    }

    /// At most `limit` entries after number `after`, in order.
    pub async fn entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.core.store.audit_entries(after, limit).await
    }

    /// The number of the newest entry; 0 in an empty log.
    pub async fn newest(&self) -> Result<u64, StoreError> {
        Ok(self.core.store.audit_bounds().await?.last.sequence)
    }

    /// The newest entry; `None` in an empty log.
    pub async fn head(&self) -> Result<Option<AuditHead>, StoreError> {
        let newest = self.core.store.audit_entries(self.newest().await?.saturating_sub(1), 1).await?;
        Ok(newest.first().map(AuditHead::from))
    }

    /// Verifies the whole log.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read.
    pub async fn verify(&self) -> Result<AuditVerification, StoreError> {
        let _only = self.verifying.lock().await;
        verify(self.core.store.audit_log(), &self.options.key, None).await
    }

    async fn log_head(&self) {
        match self.head().await {
            Ok(Some(head)) => info!(%head, "the newest entry of the audit log: `usher audit verify --head` takes it"),
            Ok(None) => {}
            Err(error) => warn!(?error, "the audit log cannot be read"),
        }
    }
}

#[async_trait]
impl PeriodicTask for AuditLog {
    async fn run(&self, hour: u64, now: UnixMillis) {
        if hour.is_multiple_of(HEAD_LOGGED_EVERY) {
            self.log_head().await;
        }
        let before = now.minus(self.options.retention);
        loop {
            match self.core.store.forget_audit_entries(before, BATCH, &self.options.key).await {
                Ok(BATCH) => {}
                Ok(_) => return,
                Err(error) => return warn!(?error, "old entries of the audit log were not removed; retrying in 1 h"),
            }
        }
    }
}
