//! What is stored of a user: found, and removed.

use async_trait::async_trait;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use usher_engine::ports::{EventMatch, EventPosition, ForgottenUser, IdempotencyKey, Matches, StoreError, UserStore};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;

use super::failure::{During as _, SqliteFailure};
use super::{SqliteStore, apply_commit, passkeys, retention};
use crate::codec;

#[async_trait]
impl UserStore for SqliteStore {
    async fn forget_user(&self, main_key: &PublicKey) -> Result<ForgottenUser, StoreError> {
        let main_key = *main_key;
        self.write(move |connection| forget(connection, &main_key)).await
    }

    async fn forget_relays_of(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        let main_key = *main_key;
        self.write(move |connection| {
            connection
                .prepare_cached("DELETE FROM user_relays WHERE main_key = ?1")
                .and_then(|mut statement| statement.execute([main_key.as_bytes()]))
                .during("forget a user's relays")
                .map(|removed| removed > 0)
        })
        .await
    }

    async fn operations_with(
        &self,
        text: &str,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Matches<StreamId, StreamId>, StoreError> {
        let text = text.to_owned();
        self.read(move |connection| operations_with(connection, &text, after, limit)).await
    }

    async fn events_with(
        &self,
        text: &str,
        after: Option<EventPosition>,
        limit: usize,
    ) -> Result<Matches<EventMatch, EventPosition>, StoreError> {
        let text = text.to_owned();
        self.read(move |connection| events_with(connection, &text, after, limit)).await
    }

    async fn idempotency_records_with(
        &self,
        text: &str,
        after: Option<IdempotencyKey>,
        limit: usize,
    ) -> Result<Matches<UnixMillis, IdempotencyKey>, StoreError> {
        let text = text.to_owned();
        self.read(move |connection| idempotency_records_with(connection, &text, after, limit)).await
    }

    async fn remove_finished_of(&self, ids: Vec<StreamId>) -> Result<Vec<StreamId>, StoreError> {
        self.write(move |connection| retention::remove_finished_of(connection, &ids)).await
    }
}

fn forget(connection: &Connection, main_key: &PublicKey) -> Result<ForgottenUser, SqliteFailure> {
    let subject = main_key.to_hex();
    let removed = |sql| {
        connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([&subject]))
            .during("remove what the OpenID Connect provider keeps of a user")
    };
    Ok(ForgottenUser {
        signer: apply_commit::forget_signer(connection, main_key)?,
        passkeys: passkeys::forget(connection, main_key)?,
        consents: removed("DELETE FROM openid_consents WHERE subject = ?1")?,
        openid_records: removed("DELETE FROM openid_records WHERE subject = ?1")?,
    })
}

fn operations_with(
    connection: &Connection,
    text: &str,
    after: Option<StreamId>,
    limit: usize,
) -> Result<Matches<StreamId, StreamId>, SqliteFailure> {
    const DURING: &str = "search operations";
    let mut statement = connection
        .prepare_cached("SELECT id, state FROM operations WHERE id > ?1 AND length(id) = 16 ORDER BY id LIMIT ?2")
        .during(DURING)?;
    let after = after.unwrap_or(StreamId::SUBSCRIPTIONS);
    let mut rows = statement.query(params![after.as_bytes(), codec::limit(limit)]).during(DURING)?;
    let (mut found, mut last, mut seen) = (Vec::new(), None, 0);
    while let Some(row) = rows.next().during(DURING)? {
        let id = row.get(0).map(StreamId::from_bytes).during(DURING)?;
        if contains(row.get_ref(1).during(DURING)?, text) {
            found.push(id);
        }
        (last, seen) = (Some(id), seen + 1);
    }
    Ok(Matches { found, next: last.filter(|_| seen == limit) })
}

fn events_with(
    connection: &Connection,
    text: &str,
    after: Option<EventPosition>,
    limit: usize,
) -> Result<Matches<EventMatch, EventPosition>, SqliteFailure> {
    const DURING: &str = "search events";
    let mut statement = connection
        .prepare_cached(
            "SELECT stream, idx, at, data FROM events WHERE (stream, idx) > (?1, ?2) AND length(stream) = 16
             ORDER BY stream, idx LIMIT ?3",
        )
        .during(DURING)?;
    let (stream, index) = after.map_or((None, -1), |(stream, index)| (Some(stream), codec::integer(index)));
    let stream = codec::after_stream(stream.as_ref());
    let mut rows = statement.query(params![stream, index, codec::limit(limit)]).during(DURING)?;
    let (mut found, mut last, mut seen) = (Vec::new(), None, 0);
    while let Some(row) = rows.next().during(DURING)? {
        let stream = row.get(0).map(StreamId::from_bytes).during(DURING)?;
        if contains(row.get_ref(3).during(DURING)?, text) {
            // A damaged time or text is no reason to overlook the event.
            let at = UnixMillis(row.get(2).unwrap_or_default());
            found.push(EventMatch { stream, at, data: row.get(3).unwrap_or_default() });
        }
        (last, seen) = (Some((stream, row.get(1).during(DURING)?)), seen + 1);
    }
    Ok(Matches { found, next: last.filter(|_| seen == limit) })
}

fn idempotency_records_with(
    connection: &Connection,
    text: &str,
    after: Option<IdempotencyKey>,
    limit: usize,
) -> Result<Matches<UnixMillis, IdempotencyKey>, SqliteFailure> {
    const DURING: &str = "search idempotency records";
    let mut statement = connection
        .prepare_cached("SELECT key, at, body FROM answers WHERE key > ?1 AND length(key) = 32 ORDER BY key LIMIT ?2")
        .during(DURING)?;
    let after: &[u8] = after.as_ref().map_or(&[], |key| &key.0);
    let mut rows = statement.query(params![after, codec::limit(limit)]).during(DURING)?;
    let (mut found, mut last, mut seen) = (Vec::new(), None, 0);
    while let Some(row) = rows.next().during(DURING)? {
        if contains(row.get_ref(2).during(DURING)?, text) {
            found.push(UnixMillis(row.get(1).unwrap_or_default()));
        }
        (last, seen) = (Some(IdempotencyKey(row.get(0).during(DURING)?)), seen + 1);
    }
    Ok(Matches { found, next: last.filter(|_| seen == limit) })
}

/// Whether a value contains this text.
fn contains(value: ValueRef<'_>, text: &str) -> bool {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            bytes.windows(text.len().max(1)).any(|window| window == text.as_bytes())
        }
        _ => false,
    }
}
