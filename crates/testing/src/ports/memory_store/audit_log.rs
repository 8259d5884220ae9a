//! The audit log.

use async_trait::async_trait;

use super::MemoryStore;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    AuditBounds, AuditEntry, AuditKey, AuditLink, AuditReader, AuditStore, NewAuditEntry, StoreError,
};

pub(super) struct AuditLog {
    entries: Vec<AuditEntry>,
    bounds: AuditBounds,
}

impl Default for AuditLog {
    fn default() -> Self {
        Self { entries: Vec::new(), bounds: AuditBounds { first: AuditLink::START, last: AuditLink::START } }
    }
}

impl AuditLog {
    pub(super) fn add(&mut self, new: &NewAuditEntry) {
        let (entry, last) = new.chained(&self.bounds.last);
        self.entries.push(entry);
        self.bounds.last = last;
    }
}

#[async_trait]
impl AuditReader for MemoryStore {
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        let rows = self.rows.lock();
        let later = rows.audit_log.entries.iter().filter(|entry| entry.sequence > after);
        Ok(later.take(limit).cloned().collect())
    }

    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError> {
        Ok(self.rows.lock().audit_log.bounds)
    }
}

#[async_trait]
impl AuditStore for MemoryStore {
    async fn add_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError> {
        self.rows.lock().audit_log.add(&entry);
        Ok(())
    }

    async fn forget_audit_entries(
        &self,
        before: UnixMillis,
        limit: usize,
        key: &AuditKey,
    ) -> Result<usize, StoreError> {
        let log = &mut self.rows.lock().audit_log;
        let page = log.entries.get(..limit).unwrap_or(&log.entries);
        log.bounds.first = key.after_old(&log.bounds.first, page, before);
        let kept = log.entries.partition_point(|entry| entry.sequence <= log.bounds.first.sequence);
        log.entries.drain(..kept);
        Ok(kept)
    }
}
