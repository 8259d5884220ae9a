//! Idempotency records, stored by themselves or in a commit.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, NewIdempotencyRecord, StoreError};

use super::failure::{During as _, SqliteFailure};
use super::{SqliteStore, retention};
use crate::codec;

#[async_trait]
impl IdempotencyStore for SqliteStore {
    async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        let key = *key;
        self.read(move |connection| get(connection, key)).await
    }

    async fn add_idempotency_record(&self, new: NewIdempotencyRecord) -> Result<bool, StoreError> {
        self.write(move |connection| Ok(add(connection, &new)? == 1)).await
    }

    async fn remove_idempotency_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::remove_idempotency_records(connection, before, limit)).await
    }
}

fn get(connection: &Connection, key: IdempotencyKey) -> Result<Option<IdempotencyRecord>, SqliteFailure> {
    const DURING: &str = "read an idempotency record";
    let found = connection
        .prepare_cached("SELECT fingerprint, at, status, media_type, body FROM answers WHERE key = ?1")
        .during(DURING)?
        .query_row([key.0], |row| Ok(stored(row, DURING)))
        .optional()
        .during(DURING)?;
    let found = found.transpose()?;
    Ok(found.map(|(fingerprint, at, status, media_type, body)| IdempotencyRecord {
        key,
        fingerprint,
        at,
        status,
        media_type,
        body,
    }))
}

/// What a row holds: fingerprint, time, status, media type and body.
type Stored = ([u8; 32], UnixMillis, u16, String, Vec<u8>);

/// The values of a row that begins with its fingerprint, time, status, media type and body.
pub(crate) fn stored(row: &Row<'_>, during: &'static str) -> Result<Stored, SqliteFailure> {
    let at = row.get(1).map(UnixMillis).during(during)?;
    let (fingerprint, status) = (row.get(0).during(during)?, row.get(2).during(during)?);
    Ok((fingerprint, at, status, row.get(3).during(during)?, row.get(4).during(during)?))
}

/// Whether there is a record under the same key that may not be replaced. One with an impossible time may not: the
/// request may have been carried out.
pub(crate) fn is_recorded(connection: &Connection, new: &NewIdempotencyRecord) -> Result<bool, SqliteFailure> {
    connection
        .prepare_cached("SELECT 1 FROM answers WHERE key = ?1 AND (at >= ?2 OR at < 0)")
        .and_then(|mut statement| statement.exists(params![new.record.key.0, codec::time(new.replace_before)]))
        .during("look for an idempotency record")
}

/// Stores the record unless there is one that may not be replaced; returns how many rows that changed, 0 or 1.
pub(crate) fn add(connection: &Connection, new: &NewIdempotencyRecord) -> Result<usize, SqliteFailure> {
    let record = &new.record;
    connection
        .prepare_cached(
            "INSERT INTO answers (key, fingerprint, at, status, media_type, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at,
                 status = excluded.status, media_type = excluded.media_type, body = excluded.body
             WHERE answers.at < ?7 AND answers.at >= 0",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                record.key.0,
                record.fingerprint,
                codec::time(record.at),
                record.status,
                record.media_type,
                record.body,
                codec::time(new.replace_before),
            ])
        })
        .during("store an idempotency record")
}
