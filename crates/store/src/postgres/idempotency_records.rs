//! Idempotency records, stored by themselves or in a commit.

use async_trait::async_trait;
use tokio_postgres::Row;
use usher_engine::UnixMillis;
use usher_engine::ports::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, NewIdempotencyRecord, StoreError};

use super::failure::PostgresFailure;
use super::query::{Param, Query, list, params};
use super::{PostgresStore, columns, retention};
use crate::codec;

#[async_trait]
impl IdempotencyStore for PostgresStore {
    async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        const GET: &str = "SELECT fingerprint, at, status, media_type, body FROM answers WHERE key = $1";
        let found = self.read("read an idempotency record", GET, params![key.0]).await?;
        Ok(found.rows.first().map(|row| stored(row, key.0)).transpose()?)
    }

    async fn add_idempotency_record(&self, new: NewIdempotencyRecord) -> Result<bool, StoreError> {
        // One with an impossible time may not be replaced: the request may have been carried out.
        const ADD: &str = "INSERT INTO answers (key, fingerprint, at, status, media_type, body)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at,
                status = excluded.status, media_type = excluded.media_type, body = excluded.body
            WHERE answers.at < $7 AND answers.at >= 0";
        let record = &new.record;
        let columns = params![
            record.key.0,
            record.fingerprint,
            codec::time(record.at),
            record.status,
            &*record.media_type,
            &*record.body,
            codec::time(new.replace_before),
        ];
        Ok(self.change("store an idempotency record", ADD, columns).await? == 1)
    }

    async fn remove_idempotency_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change("remove idempotency records", retention::RECORDS, retention::bounds(before, limit)).await
    }
}

/// The record with this key in a row that begins with its fingerprint, time, status, media type and body.
pub(super) fn stored(row: &Row, key: [u8; 32]) -> Result<IdempotencyRecord, PostgresFailure> {
    Ok(IdempotencyRecord {
        key: IdempotencyKey(key),
        fingerprint: columns::bytes(row, 0)?,
        at: columns::time(row, 1)?,
        status: columns::int(row, 2)?,
        media_type: columns::text(row, 3)?,
        body: columns::get(row, 4)?,
    })
}

/// Whether there is a record under the same key that may not be replaced: a row says so.
pub(super) const IS_RECORDED: &str = "SELECT 1 FROM answers WHERE key = $1 AND (at >= $2 OR at < 0)";

/// The parameters of [`IS_RECORDED`].
pub(super) fn is_recorded(new: &NewIdempotencyRecord) -> Vec<Param> {
    params![new.record.key.0, codec::time(new.replace_before)]
}

/// Stores records in place of those under the same keys, as was decided before.
pub(super) fn put<'r>(records: impl Iterator<Item = &'r IdempotencyRecord> + Clone) -> Query {
    const PUT: &str = "INSERT INTO answers (key, fingerprint, at, status, media_type, body)
        SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[])
        ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at,
            status = excluded.status, media_type = excluded.media_type, body = excluded.body";
    let columns = vec![
        list(records.clone().map(|record| record.key.0)),
        list(records.clone().map(|record| record.fingerprint)),
        list(records.clone().map(|record| codec::time(record.at))),
        list(records.clone().map(|record| record.status)),
        list(records.clone().map(|record| &*record.media_type)),
        list(records.map(|record| &*record.body)),
    ];
    Query::new("store idempotency records", PUT, columns)
}
