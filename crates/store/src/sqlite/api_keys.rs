//! API keys.

use async_trait::async_trait;
use rusqlite::{Connection, Row, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{KeyId, KeyStore, SecretDigest, StoreError, StoredKey};

use super::SqliteStore;
use super::failure::{During as _, SqliteFailure};
use crate::codec;

const DURING: &str = "read API keys";

#[async_trait]
impl KeyStore for SqliteStore {
    async fn keys(&self) -> Result<Vec<Result<StoredKey, StoreError>>, StoreError> {
        self.read(all).await
    }

    async fn put_key(&self, key: StoredKey) -> Result<(), StoreError> {
        self.write(move |connection| put(connection, &key)).await
    }

    async fn remove_key(&self, id: KeyId) -> Result<bool, StoreError> {
        self.write(move |connection| {
            let removed = connection.execute("DELETE FROM api_keys WHERE id = ?1", [id.as_bytes()]);
            removed.map(|count| count > 0).during("remove an API key")
        })
        .await
    }

    async fn note_key_uses(&self, uses: Vec<(KeyId, [Option<UnixMillis>; 2])>) -> Result<(), StoreError> {
        self.write(move |connection| {
            uses.iter().try_for_each(|(id, [used, previous])| {
                connection
                    .prepare_cached("UPDATE api_keys SET used_at = ?2, previous_used_at = ?3 WHERE id = ?1")
                    .and_then(|mut note| note.execute(params![id.as_bytes(), time(*used), time(*previous)]))
                    .during("note the use of API keys")
                    .map(|_| ())
            })
        })
        .await
    }
}

fn all(connection: &Connection) -> Result<Vec<Result<StoredKey, StoreError>>, SqliteFailure> {
    let mut statement = connection
        .prepare_cached(
            "SELECT digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at, id
             FROM api_keys ORDER BY id",
        )
        .during(DURING)?;
    let mut rows = statement.query([]).during(DURING)?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        match stored(row, DURING) {
            Err(SqliteFailure::Unreadable(what)) => keys.push(Err(StoreError::Unreadable(what))),
            key => keys.push(Ok(key?)),
        }
    }
    Ok(keys)
}

/// The key in a row that begins with these columns.
pub(super) fn stored(row: &Row<'_>, during: &'static str) -> Result<StoredKey, SqliteFailure> {
    let previous = (row.get::<_, Option<[u8; 32]>>(1).during(during)?, row.get::<_, Option<u64>>(2).during(during)?);
    let previous = match previous {
        (Some(digest), Some(until)) => Some((SecretDigest(digest), UnixMillis(until))),
        (None, None) => None,
        _ => return Err(SqliteFailure::Unreadable("a former secret of an API key")),
    };
    let time = |index| Ok::<_, SqliteFailure>(row.get::<_, Option<u64>>(index).during(during)?.map(UnixMillis));
    Ok(StoredKey {
        id: KeyId::from_bytes(row.get(7).during(during)?),
        digest: SecretDigest(row.get(0).during(during)?),
        previous,
        terms: row.get(3).during(during)?,
        created_at: UnixMillis(row.get(4).during(during)?),
        used_at: [time(5)?, time(6)?],
    })
}

fn put(connection: &Connection, key: &StoredKey) -> Result<(), SqliteFailure> {
    let StoredKey { id, digest, previous, terms, created_at, used_at: [used, previous_used] } = key;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO api_keys
                 (id, digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                id.as_bytes(),
                digest.0,
                previous.map(|(digest, _)| digest.0),
                time(previous.map(|(_, until)| until)),
                terms,
                codec::time(*created_at),
                time(*used),
                time(*previous_used),
            ])
        })
        .during("store an API key")
        .map(|_| ())
}

fn time(at: Option<UnixMillis>) -> Option<i64> {
    at.map(codec::time)
}
