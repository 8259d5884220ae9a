//! API keys.

use async_trait::async_trait;
use tokio_postgres::Row;
use usher_engine::UnixMillis;
use usher_engine::ports::{KeyId, KeyStore, SecretDigest, StoreError, StoredKey};

use super::failure::PostgresFailure;
use super::query::{Query, list, params};
use super::{PostgresStore, columns};
use crate::codec;

#[async_trait]
impl KeyStore for PostgresStore {
    async fn keys(&self) -> Result<Vec<Result<StoredKey, StoreError>>, StoreError> {
        const ALL: &str =
            "SELECT digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at, id
            FROM api_keys ORDER BY id";
        let found = self.read("read API keys", ALL, params![]).await?;
        let keys = found.rows.iter().map(|row| match stored(row) {
            Err(PostgresFailure::Unreadable(what)) => Ok(Err(StoreError::Unreadable(what))),
            key => Ok(Ok(key?)),
        });
        Ok(keys.collect::<Result<_, PostgresFailure>>()?)
    }

    async fn put_key(&self, key: StoredKey) -> Result<(), StoreError> {
        const PUT: &str = "INSERT INTO api_keys
                (id, digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, previous_digest = excluded.previous_digest,
                previous_until = excluded.previous_until, terms = excluded.terms, created_at = excluded.created_at,
                used_at = excluded.used_at, previous_used_at = excluded.previous_used_at";
        let StoredKey { id, digest, previous, terms, created_at, used_at: [used, previous_used] } = key;
        let columns = params![
            id.as_bytes(),
            digest.0,
            previous.map(|(digest, _)| digest.0.to_vec()),
            time(previous.map(|(_, until)| until)),
            &*terms,
            codec::time(created_at),
            time(used),
            time(previous_used)
        ];
        self.queue.blind(vec![Query::new("store an API key", PUT, columns)]).await
    }

    async fn remove_key(&self, id: KeyId) -> Result<bool, StoreError> {
        const REMOVE: &str = "DELETE FROM api_keys WHERE id = $1";
        let remove = Query::new("remove an API key", REMOVE, params![id.as_bytes()]);
        let answers = self.queue.statements(vec![remove]).await?;
        Ok(answers.first().is_some_and(|answer| answer.changed > 0))
    }

    async fn note_key_uses(&self, uses: Vec<(KeyId, [Option<UnixMillis>; 2])>) -> Result<(), StoreError> {
        const NOTE: &str = "UPDATE api_keys SET used_at = n.used_at, previous_used_at = n.previous_used_at
            FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS n (id, used_at, previous_used_at)
            WHERE api_keys.id = n.id";
        let columns = vec![
            list(uses.iter().map(|(id, _)| id.as_bytes())),
            list(uses.iter().map(|(_, [used, _])| time(*used))),
            list(uses.iter().map(|(_, [_, previous])| time(*previous))),
        ];
        self.queue.blind(vec![Query::new("note the use of API keys", NOTE, columns)]).await
    }
}

/// The key in a row that begins with these columns.
pub(super) fn stored(row: &Row) -> Result<StoredKey, PostgresFailure> {
    let previous = match (columns::optional_bytes::<32>(row, 1)?, columns::optional_time(row, 2)?) {
        (Some(digest), Some(until)) => Some((SecretDigest(digest), until)),
        (None, None) => None,
        _ => return Err(PostgresFailure::Unreadable("a former secret of an API key")),
    };
    Ok(StoredKey {
        id: KeyId::from_bytes(columns::bytes(row, 7)?),
        digest: SecretDigest(columns::bytes(row, 0)?),
        previous,
        terms: columns::text(row, 3)?,
        created_at: columns::time(row, 4)?,
        used_at: [columns::optional_time(row, 5)?, columns::optional_time(row, 6)?],
    })
}

fn time(at: Option<UnixMillis>) -> Option<i64> {
    at.map(codec::time)
}
