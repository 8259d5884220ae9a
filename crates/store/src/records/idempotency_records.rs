//! Idempotency records, stored alone or in a commit.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, NewIdempotencyRecord, StoreError};

use crate::codec::{self, Unreadable};
use crate::engine::{Engine, SqlStore};
use crate::row::Row;
use crate::statement::{Param, Query, Statement, params};

const GET: Statement = Statement::new(
    "read an idempotency record",
    "SELECT fingerprint, at, status, media_type, body FROM answers WHERE key = ?1",
);

/// A record with an impossible time is not replaced: the request may have been carried out.
const ADD: Statement = Statement::new(
    "store an idempotency record",
    "INSERT INTO answers (key, fingerprint, at, status, media_type, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at, status = excluded.status,
         media_type = excluded.media_type, body = excluded.body
     WHERE answers.at < ?7 AND answers.at >= 0",
);

/// Replaces the record with the same key, as decided before.
const PUT: Statement = Statement::new(
    "store idempotency records",
    "INSERT INTO answers (key, fingerprint, at, status, media_type, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at, status = excluded.status,
         media_type = excluded.media_type, body = excluded.body",
);

const IS_RECORDED: Statement =
    Statement::new("look for an idempotency record", "SELECT 1 FROM answers WHERE key = ?1 AND (at >= ?2 OR at < 0)");

const OLD: Statement = Statement::new(
    "remove idempotency records",
    "DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE at < ?1 ORDER BY at, key LIMIT ?2)",
);

#[async_trait]
impl<E: Engine> IdempotencyStore for SqlStore<E> {
    async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        let key = key.0;
        self.first(GET.with(params![key]), move |row| stored(row, key)).await
    }

    async fn add_idempotency_record(&self, new: NewIdempotencyRecord) -> Result<bool, StoreError> {
        let mut columns = columns(&new.record);
        columns.push(codec::time(new.replace_before).into());
        Ok(self.change(ADD.with(columns)).await? == 1)
    }

    async fn remove_idempotency_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(OLD, before, limit).await
    }
}

/// The record in a row of its fingerprint, time, status, media type and body.
pub(crate) fn stored(row: &Row, key: [u8; 32]) -> Result<IdempotencyRecord, Unreadable> {
    Ok(IdempotencyRecord {
        key: IdempotencyKey(key),
        fingerprint: row.bytes(0)?,
        at: row.time(1)?,
        status: row.int(2)?,
        media_type: row.string(3)?,
        body: row.blob(4)?.to_vec(),
    })
}

/// Returns a row if a record with the same key may not be replaced.
pub(crate) fn is_recorded(new: &NewIdempotencyRecord) -> Query {
    IS_RECORDED.with(params![new.record.key.0, codec::time(new.replace_before)])
}

/// Stores records in place of those with the same keys, as decided before.
pub(crate) fn put<'r>(records: impl IntoIterator<Item = &'r IdempotencyRecord>) -> Query {
    PUT.each(records.into_iter().map(columns))
}

fn columns(record: &IdempotencyRecord) -> Vec<Param> {
    params![record.key.0, record.fingerprint, codec::time(record.at), record.status, &*record.media_type, &*record.body]
}
