//! API keys.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{KeyId, KeyStore, SecretDigest, StoreError, StoredKey};

use crate::codec::{self, Unreadable};
use crate::engine::{Engine, SqlStore};
use crate::row::Row;
use crate::statement::{Statement, params};

const ALL: Statement = Statement::new(
    "read API keys",
    "SELECT digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at, id
     FROM api_keys ORDER BY id",
);

const PUT: Statement = Statement::new(
    "store an API key",
    "INSERT INTO api_keys
         (id, digest, previous_digest, previous_until, terms, created_at, used_at, previous_used_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
     ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, previous_digest = excluded.previous_digest,
         previous_until = excluded.previous_until, terms = excluded.terms, created_at = excluded.created_at,
         used_at = excluded.used_at, previous_used_at = excluded.previous_used_at",
);

const REMOVE: Statement = Statement::new("remove an API key", "DELETE FROM api_keys WHERE id = ?1");

const NOTE_USE: Statement = Statement::new(
    "note the use of API keys",
    "WITH n (id, used_at, previous_used_at) AS (VALUES (?1, ?2, ?3))
     UPDATE api_keys SET used_at = n.used_at, previous_used_at = n.previous_used_at FROM n WHERE api_keys.id = n.id",
);

#[async_trait]
impl<E: Engine> KeyStore for SqlStore<E> {
    async fn keys(&self) -> Result<Vec<Result<StoredKey, StoreError>>, StoreError> {
        self.all(ALL.with(params![]), |row| Ok(stored(row).map_err(StoreError::from))).await
    }

    async fn put_key(&self, key: StoredKey) -> Result<(), StoreError> {
        let StoredKey { id, digest, previous, terms, created_at, used_at: [used, previous_used] } = key;
        let columns = params![
            id.as_bytes(),
            digest.0,
            previous.map(|(digest, _)| digest.0),
            time(previous.map(|(_, until)| until)),
            &*terms,
            codec::time(created_at),
            time(used),
            time(previous_used)
        ];
        self.0.write_blind(vec![PUT.with(columns)]).await
    }

    async fn remove_key(&self, id: KeyId) -> Result<bool, StoreError> {
        Ok(self.change(REMOVE.with(params![id.as_bytes()])).await? > 0)
    }

    async fn note_key_uses(&self, uses: Vec<(KeyId, [Option<UnixMillis>; 2])>) -> Result<(), StoreError> {
        let uses = uses.iter().map(|(id, [used, previous])| params![id.as_bytes(), time(*used), time(*previous)]);
        self.0.write_blind(vec![NOTE_USE.each(uses)]).await
    }
}

pub(crate) fn stored(row: &Row) -> Result<StoredKey, Unreadable> {
    let previous = match (row.optional_bytes(1)?, row.optional_time(2)?) {
        (Some(digest), Some(until)) => Some((SecretDigest(digest), until)),
        (None, None) => None,
        _ => return Err(Unreadable("a former secret of an API key")),
    };
    Ok(StoredKey {
        id: KeyId::from_bytes(row.bytes(7)?),
        digest: SecretDigest(row.bytes(0)?),
        previous,
        terms: row.string(3)?,
        created_at: row.time(4)?,
        used_at: [row.optional_time(5)?, row.optional_time(6)?],
    })
}

fn time(at: Option<UnixMillis>) -> Option<i64> {
    at.map(codec::time)
}
