//! The audit log.

use async_trait::async_trait;
use tokio_postgres::Row;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    AuditBounds, AuditEntry, AuditKey, AuditLink, AuditReader, AuditRecord, AuditStore, NewAuditEntry, StoreError,
};

use super::failure::PostgresFailure;
use super::query::{Answer, Query, list, params};
use super::{PostgresInspection, PostgresStore, columns};
use crate::codec;

const ENTRIES: &str = "SELECT sequence, at, actor, address, action, details, outcome, request_id, hash FROM audit_log
    WHERE sequence > $1 ORDER BY sequence LIMIT $2";

const BOUNDS: &str = "SELECT bound, sequence, link FROM audit_chain";

#[async_trait]
impl AuditReader for PostgresStore {
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        let page = params![codec::integer(after), codec::limit(limit)];
        Ok(entries(&self.read("read the audit log", ENTRIES, page).await?))
    }

    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError> {
        Ok(bounds(&self.read("read where the audit log begins and ends", BOUNDS, params![]).await?))
    }
}

#[async_trait]
impl AuditStore for PostgresStore {
    async fn add_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError> {
        let add = move |read: Vec<Answer>| {
            let mut added = Added::after(read.first());
            added.add(&entry);
            Ok(((), added.queries()))
        };
        self.queue.decision(vec![end()], add).await
    }

    async fn forget_audit_entries(
        &self,
        before: UnixMillis,
        limit: usize,
        key: &AuditKey,
    ) -> Result<usize, StoreError> {
        const REMOVE: &str = "DELETE FROM audit_log WHERE sequence <= $1";
        const DURING: &str = "remove old entries of the audit log";
        let key = key.clone();
        let reads = vec![
            Query::new(DURING, BOUNDS, params![]),
            Query::new(DURING, ENTRIES, params![0_i64, codec::limit(limit)]),
        ];
        let forget = move |read: Vec<Answer>| {
            let [chain, oldest] = &*read else { return Err(PostgresFailure::Unreadable("the audit log")) };
            let (first, oldest) = (bounds(chain).first, entries(oldest));
            let after = key.after_old(&first, &oldest, before);
            if after == first {
                return Ok((0, Vec::new()));
            }
            let removed = oldest.iter().filter(|entry| entry.sequence <= after.sequence).count();
            let remove = Query::new(DURING, REMOVE, params![codec::integer(after.sequence)]);
            // The beginning of the chain moves first: only what is before it can be removed.
            Ok((removed, vec![set_bound("first", &after), remove]))
        };
        self.queue.decision(reads, forget).await
    }
}

#[async_trait]
impl AuditReader for PostgresInspection {
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        let page = params![codec::integer(after), codec::limit(limit)];
        Ok(entries(&self.read("read the audit log", ENTRIES, page).await?))
    }

    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError> {
        Ok(bounds(&self.read("read where the audit log begins and ends", BOUNDS, params![]).await?))
    }
}

/// Entries that a transaction adds.
pub(super) struct Added {
    entries: Vec<AuditEntry>,
    last: AuditLink,
}

/// Reads what [`Added::after`] takes.
pub(super) fn end() -> Query {
    const END: &str = "SELECT c.bound, c.sequence, c.link,
            greatest((SELECT max(sequence) FROM audit_log), (SELECT max(sequence) FROM audit_chain))
        FROM (SELECT 1) AS always LEFT JOIN audit_chain AS c ON c.bound = 'last'";
    Query::new("read the end of the audit log", END, params![])
}

impl Added {
    /// None yet, after the newest entry.
    pub(super) fn after(end: Option<&Answer>) -> Self {
        let row = end.and_then(|end| end.rows.first());
        let newest = row.and_then(|row| columns::int(row, 3).ok()).unwrap_or_default();
        let mut last = row.and_then(bound).map_or(AuditLink::START, |(_, last)| last);
        if last.sequence < newest {
            // The end of the chain was changed. The log goes on, and verification shows it.
            last = AuditLink::unknown(newest);
        }
        Self { entries: Vec::new(), last }
    }

    pub(super) fn add(&mut self, new: &NewAuditEntry) {
        let (entry, last) = new.chained(&self.last);
        self.entries.push(entry);
        self.last = last;
    }

    /// The statements that store them.
    pub(super) fn queries(&self) -> Vec<Query> {
        const INSERT: &str =
            "INSERT INTO audit_log (sequence, at, actor, address, action, details, outcome, request_id, hash)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                $8::text[], $9::bytea[])";
        if self.entries.is_empty() {
            return Vec::new();
        }
        let records = || self.entries.iter().map(|entry| &entry.record);
        let columns = vec![
            list(self.entries.iter().map(|entry| codec::integer(entry.sequence))),
            list(records().map(|record| codec::time(record.at))),
            list(records().map(|record| &*record.actor)),
            list(records().map(|record| &*record.address)),
            list(records().map(|record| &*record.action)),
            list(records().map(|record| &*record.details)),
            list(records().map(|record| &*record.outcome)),
            list(records().map(|record| &*record.request_id)),
            list(self.entries.iter().map(|entry| entry.hash)),
        ];
        vec![Query::new("add entries to the audit log", INSERT, columns), set_bound("last", &self.last)]
    }
}

fn set_bound(name: &str, at: &AuditLink) -> Query {
    const SET: &str = "INSERT INTO audit_chain (bound, sequence, link) VALUES ($1, $2, $3)
        ON CONFLICT (bound) DO UPDATE SET sequence = excluded.sequence, link = excluded.link";
    let columns = params![name, codec::integer(at.sequence), at.link];
    Query::new("store where the audit log begins and ends", SET, columns)
}

fn bounds(found: &Answer) -> AuditBounds {
    let mut bounds = AuditBounds { first: AuditLink::START, last: AuditLink::START };
    for (name, at) in found.rows.iter().filter_map(bound) {
        match &*name {
            "first" => bounds.first = at,
            "last" => bounds.last = at,
            _ => {}
        }
    }
    bounds
}

fn bound(row: &Row) -> Option<(String, AuditLink)> {
    let name = columns::text(row, 0).ok()?;
    let sequence = columns::int(row, 1).unwrap_or_default();
    let at = columns::bytes(row, 2).map_or_else(|_| AuditLink::unknown(sequence), |link| AuditLink { sequence, link });
    Some((name, at))
}

/// A value that this program never writes becomes one that fails verification.
fn entries(found: &Answer) -> Vec<AuditEntry> {
    let entry = |row: &Row| {
        let text = |column| columns::text(row, column).unwrap_or_default();
        AuditEntry {
            sequence: columns::int(row, 0).unwrap_or_default(),
            record: AuditRecord {
                at: columns::time(row, 1).unwrap_or_default(),
                actor: text(2),
                address: text(3),
                action: text(4),
                details: text(5),
                outcome: text(6),
                request_id: text(7),
            },
            hash: columns::bytes(row, 8).unwrap_or_default(),
        }
    };
    found.rows.iter().map(entry).collect()
}
