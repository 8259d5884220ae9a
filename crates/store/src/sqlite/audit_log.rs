//! The audit log.

use async_trait::async_trait;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{
    AuditBounds, AuditEntry, AuditKey, AuditLink, AuditReader, AuditRecord, AuditStore, NewAuditEntry, StoreError,
};

use super::failure::{During as _, SqliteFailure};
use super::{DatabaseInspection, SqliteStore};
use crate::codec;

#[async_trait]
impl AuditReader for SqliteStore {
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(move |connection| entries(connection, after, limit)).await
    }

    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError> {
        self.read(bounds).await
    }
}

#[async_trait]
impl AuditStore for SqliteStore {
    async fn add_audit_entry(&self, entry: NewAuditEntry) -> Result<(), StoreError> {
        self.write(move |connection| add(connection, &entry)).await
    }

    async fn forget_audit_entries(
        &self,
        before: UnixMillis,
        limit: usize,
        key: &AuditKey,
    ) -> Result<usize, StoreError> {
        let key = key.clone();
        self.write(move |connection| forget(connection, before, limit, &key)).await
    }
}

#[async_trait]
impl AuditReader for DatabaseInspection {
    async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(self.with_connection(|connection| entries(connection, after, limit))?)
    }

    async fn audit_bounds(&self) -> Result<AuditBounds, StoreError> {
        Ok(self.with_connection(bounds)?)
    }
}

const FIRST: &str = "first";
const LAST: &str = "last";

/// Adds an entry, in the transaction of what it says.
pub(crate) fn add(connection: &Connection, new: &NewAuditEntry) -> Result<(), SqliteFailure> {
    let mut last = match bound(connection, LAST)? {
        Some(last) => last,
        None => match newest(connection)? {
            0 => AuditLink::START,
            newest => AuditLink::unknown(newest),
        },
    };
    if !insert(connection, new, &mut last)? {
        // An entry with this number is there: the end of the chain was changed. The log goes on, and verification shows it.
        last = AuditLink::unknown(newest(connection)?);
        if !insert(connection, new, &mut last)? {
            return Err(SqliteFailure::Unreadable("the end of the audit log"));
        }
    }
    set_bound(connection, LAST, &last)
}

/// Inserts the entry after `last`, which is the place after it then. False if there is one with its number.
fn insert(connection: &Connection, new: &NewAuditEntry, last: &mut AuditLink) -> Result<bool, SqliteFailure> {
    let (AuditEntry { sequence, record, hash }, next) = new.chained(last);
    let inserted = connection
        .prepare_cached(
            "INSERT INTO audit_log (sequence, at, actor, address, action, details, outcome, request_id, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (sequence) DO NOTHING",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                codec::integer(sequence),
                codec::time(record.at),
                record.actor,
                record.address,
                record.action,
                record.details,
                record.outcome,
                record.request_id,
                hash,
            ])
        })
        .during("add an entry to the audit log")?;
    *last = next;
    Ok(inserted == 1)
}

/// The largest number that is known.
fn newest(connection: &Connection) -> Result<u64, SqliteFailure> {
    const NEWEST: &str = "SELECT max(coalesce((SELECT max(sequence) FROM audit_log), 0),
        coalesce((SELECT max(sequence) FROM audit_chain), 0))";
    let newest: i64 = connection.query_row(NEWEST, [], |row| row.get(0)).during("read the end of the audit log")?;
    Ok(u64::try_from(newest).unwrap_or_default())
}

fn bounds(connection: &Connection) -> Result<AuditBounds, SqliteFailure> {
    let at = |name| bound(connection, name).map(|at| at.unwrap_or(AuditLink::START));
    Ok(AuditBounds { first: at(FIRST)?, last: at(LAST)? })
}

fn bound(connection: &Connection, name: &str) -> Result<Option<AuditLink>, SqliteFailure> {
    let read = |row: &Row<'_>| {
        let sequence = u64::try_from(row.get::<_, i64>(0)?).unwrap_or_default();
        let link = row.get_ref(1)?.as_blob().ok().and_then(|link| link.try_into().ok());
        Ok(link.map_or_else(|| AuditLink::unknown(sequence), |link| AuditLink { sequence, link }))
    };
    connection
        .prepare_cached("SELECT sequence, link FROM audit_chain WHERE bound = ?1")
        .and_then(|mut statement| statement.query_row([name], read).optional())
        .during("read where the audit log begins and ends")
}

fn set_bound(connection: &Connection, name: &str, at: &AuditLink) -> Result<(), SqliteFailure> {
    connection
        .prepare_cached(
            "INSERT INTO audit_chain (bound, sequence, link) VALUES (?1, ?2, ?3)
             ON CONFLICT (bound) DO UPDATE SET sequence = excluded.sequence, link = excluded.link",
        )
        .and_then(|mut statement| statement.execute(params![name, codec::integer(at.sequence), at.link]))
        .during("store where the audit log begins and ends")
        .map(|_| ())
}

fn entries(connection: &Connection, after: u64, limit: usize) -> Result<Vec<AuditEntry>, SqliteFailure> {
    connection
        .prepare_cached(
            "SELECT sequence, at, actor, address, action, details, outcome, request_id, hash FROM audit_log
             WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
        )
        .and_then(|mut statement| {
            statement.query_map(params![codec::integer(after), codec::limit(limit)], entry)?.collect()
        })
        .during("read the audit log")
}

/// A value that this program never writes becomes one that fails verification.
fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let number =
        |column| row.get_ref(column).map(|value| value.as_i64().ok().and_then(|value| u64::try_from(value).ok()));
    let text = |column| {
        row.get_ref(column).map(|value| match value {
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        })
    };
    let hash = row.get_ref(8)?.as_blob().ok().and_then(|hash| hash.try_into().ok());
    Ok(AuditEntry {
        sequence: number(0)?.unwrap_or_default(),
        record: AuditRecord {
            at: UnixMillis(number(1)?.unwrap_or_default()),
            actor: text(2)?,
            address: text(3)?,
            action: text(4)?,
            details: text(5)?,
            outcome: text(6)?,
            request_id: text(7)?,
        },
        hash: hash.unwrap_or_default(),
    })
}

/// The beginning of the chain moves first: only what is before it can be removed.
fn forget(connection: &Connection, before: UnixMillis, limit: usize, key: &AuditKey) -> Result<usize, SqliteFailure> {
    let first = bound(connection, FIRST)?.unwrap_or(AuditLink::START);
    let after = key.after_old(&first, &entries(connection, 0, limit)?, before);
    if after == first {
        return Ok(0);
    }
    set_bound(connection, FIRST, &after)?;
    connection
        .prepare_cached("DELETE FROM audit_log WHERE sequence <= ?1")
        .and_then(|mut statement| statement.execute([codec::integer(after.sequence)]))
        .during("remove old entries of the audit log")
}
