//! The audit log.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    AuditBounds, AuditEntry, AuditKey, AuditLink, AuditReader, AuditRecord, AuditStore, NewAuditEntry, StoreError,
};

use crate::codec::{self, Unreadable};
use crate::engine::{Engine, SqlStore};
use crate::row::{Answer, Row, Value};
use crate::statement::{Query, Statement, params};

const ENTRIES: Statement = Statement::new(
    "read the audit log",
    "SELECT sequence, at, actor, address, action, details, outcome, request_id, hash FROM audit_log
     WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
);

const BOUNDS: Statement =
    Statement::new("read where the audit log begins and ends", "SELECT bound, sequence, link FROM audit_chain");

const END: Statement = Statement::new(
    "read the end of the audit log",
    "SELECT c.bound, c.sequence, c.link, (SELECT max(sequence) FROM audit_log), (SELECT max(sequence) FROM audit_chain)
     FROM (SELECT 1) AS always LEFT JOIN audit_chain AS c ON c.bound = 'last'",
);

const INSERT: Statement = Statement::new(
    "add entries to the audit log",
    "INSERT INTO audit_log (sequence, at, actor, address, action, details, outcome, request_id, hash)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
);

const SET_BOUND: Statement = Statement::new(
    "store where the audit log begins and ends",
    "INSERT INTO audit_chain (bound, sequence, link) VALUES (?1, ?2, ?3)
     ON CONFLICT (bound) DO UPDATE SET sequence = excluded.sequence, link = excluded.link",
);

const REMOVE: Statement =
    Statement::new("remove old entries of the audit log", "DELETE FROM audit_log WHERE sequence <= ?1");

#[async_trait]
impl<E: Engine> AuditReader for SqlStore<E> {
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.answer(read_entries(after, limit), |found| Ok(entries(found))).await
    }

    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError> {
        self.answer(read_bounds(), |found| Ok(bounds(found))).await
    }
}

#[async_trait]
impl<E: Engine> AuditStore for SqlStore<E> {
    async fn add_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError> {
        let add = move |read: &[Answer]| {
            let mut added = Added::after(read.first());
            added.add(&entry);
            Ok(((), added.queries()))
        };
        self.0.decide(vec![end()], add).await
    }

    async fn forget_audit_entries(
        &self,
        before: UnixMillis,
        limit: usize,
        key: &AuditKey,
    ) -> Result<usize, StoreError> {
        let key = key.clone();
        let forget = move |read: &[Answer]| {
            let [chain, oldest] = read else { return Err(Unreadable("the audit log")) };
            let (first, oldest) = (bounds(chain).first, entries(oldest));
            let after = key.after_old(&first, &oldest, before);
            if after == first {
                return Ok((0, Vec::new()));
            }
            let removed = oldest.iter().filter(|entry| entry.sequence <= after.sequence).count();
            let remove = REMOVE.with(params![codec::integer(after.sequence)]);
            // The start of the chain moves first: only entries before it can be removed.
            Ok((removed, vec![set_bound("first", &after), remove]))
        };
        self.0.decide(vec![read_bounds(), read_entries(0, limit)], forget).await
    }
}

pub(crate) fn read_entries(after: u64, limit: usize) -> Query {
    ENTRIES.with(params![codec::integer(after), codec::limit(limit)])
}

pub(crate) fn read_bounds() -> Query {
    BOUNDS.with(params![])
}

/// The query for [`Added::after`].
pub(crate) fn end() -> Query {
    END.with(params![])
}

pub(crate) struct Added {
    entries: Vec<AuditEntry>,
    last: AuditLink,
}

impl Added {
    /// No entries yet, after the newest stored one.
    pub(crate) fn after(end: Option<&Answer>) -> Self {
        let row = end.and_then(|end| end.rows.first());
        let newest = |column| row.and_then(|row| row.int::<u64>(column).ok()).unwrap_or_default();
        let newest = newest(3).max(newest(4));
        let mut last = row.and_then(bound).map_or(AuditLink::START, |(_, last)| last);
        if last.sequence < newest {
            // The end of the chain was tampered with. The log continues, and verification reports it.
            last = AuditLink::unknown(newest);
        }
        Self { entries: Vec::new(), last }
    }

    pub(crate) fn add(&mut self, new: &NewAuditEntry) {
        let (entry, last) = new.chained(&self.last);
        self.entries.push(entry);
        self.last = last;
    }

    pub(crate) fn queries(&self) -> Vec<Query> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let insert = INSERT.each(self.entries.iter().map(|AuditEntry { sequence, record, hash }| {
            params![
                codec::integer(*sequence),
                codec::time(record.at),
                &*record.actor,
                &*record.address,
                &*record.action,
                &*record.details,
                &*record.outcome,
                &*record.request_id,
                hash,
            ]
        }));
        vec![insert, set_bound("last", &self.last)]
    }
}

fn set_bound(name: &str, at: &AuditLink) -> Query {
    SET_BOUND.with(params![name, codec::integer(at.sequence), at.link])
}

/// The first and last entry of the log.
pub(crate) fn bounds(found: &Answer) -> AuditBounds {
    let mut bounds = AuditBounds { first: AuditLink::START, last: AuditLink::START };
    for (name, at) in found.rows.iter().filter_map(bound) {
        match name {
            "first" => bounds.first = at,
            "last" => bounds.last = at,
            _ => {}
        }
    }
    bounds
}

fn bound(row: &Row) -> Option<(&str, AuditLink)> {
    let name = row.text(0).ok()?;
    let sequence = row.int(1).unwrap_or_default();
    let at = row.bytes(2).map_or_else(|_| AuditLink::unknown(sequence), |link| AuditLink { sequence, link });
    Some((name, at))
}

/// Values that this program never writes become entries that fail verification.
pub(crate) fn entries(found: &Answer) -> Vec<AuditEntry> {
    let entry = |row: &Row| {
        let text = |column| match row.value(column) {
            Value::Text(text) => text.clone(),
            Value::Damaged(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Null | Value::Integer(_) | Value::Blob(_) => String::new(),
        };
        AuditEntry {
            sequence: row.int(0).unwrap_or_default(),
            record: AuditRecord {
                at: row.time(1).unwrap_or_default(),
                actor: text(2),
                address: text(3),
                action: text(4),
                details: text(5),
                outcome: text(6),
                request_id: text(7),
            },
            hash: row.bytes(8).unwrap_or_default(),
        }
    };
    found.rows.iter().map(entry).collect()
}
