//! What is stored of a user: found, and removed.

use async_trait::async_trait;
use tokio_postgres::Row;
use usher_engine::ports::{EventMatch, EventPosition, ForgottenUser, IdempotencyKey, Matches, StoreError, UserStore};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;

use super::failure::PostgresFailure;
use super::query::{Query, list, params};
use super::{PostgresStore, columns, passkeys, retention};
use crate::codec;

const FORGET_SIGNER: &str = "UPDATE user_relays SET signer = NULL WHERE main_key = $1 AND signer IS NOT NULL";
const FORGET_CONSENTS: &str = "DELETE FROM openid_consents WHERE subject = $1";
const FORGET_RECORDS: &str = "DELETE FROM openid_records WHERE subject = $1";
const FORGET_RELAYS: &str = "DELETE FROM user_relays WHERE main_key = $1";

const OPERATIONS: &str = "SELECT id, position($2 IN state) > 0 FROM operations
    WHERE id > $1 AND octet_length(id) = 16 ORDER BY id LIMIT $3";

const EVENTS: &str =
    "SELECT stream, position($3 IN data) > 0, idx, at, CASE WHEN position($3 IN data) > 0 THEN data END
    FROM events WHERE (stream, idx) > ($1, $2) AND octet_length(stream) = 16 ORDER BY stream, idx LIMIT $4";

const RECORDS: &str = "SELECT key, position($2 IN body) > 0, at FROM answers
    WHERE key > $1 AND octet_length(key) = 32 ORDER BY key LIMIT $3";

#[async_trait]
impl UserStore for PostgresStore {
    async fn forget_user(&self, main_key: &PublicKey) -> Result<ForgottenUser, StoreError> {
        const DURING: &str = "forget a user";
        let subject = main_key.to_hex();
        let queries = vec![
            Query::new(DURING, FORGET_SIGNER, params![main_key.as_bytes()]),
            Query::new(DURING, passkeys::FORGET, params![main_key.as_bytes()]),
            Query::new(DURING, FORGET_CONSENTS, params![&*subject]),
            Query::new(DURING, FORGET_RECORDS, params![&*subject]),
        ];
        let answers = self.queue.statements(queries).await?;
        let changed = |nth: usize| answers.get(nth).map_or(0, |answer| answer.changed);
        Ok(ForgottenUser {
            signer: changed(0) > 0,
            passkeys: changed(1),
            consents: changed(2),
            openid_records: changed(3),
        })
    }

    async fn forget_relays_of(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        Ok(self.change("forget a user's relays", FORGET_RELAYS, params![main_key.as_bytes()]).await? > 0)
    }

    async fn operations_with(
        &self,
        text: &str,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Matches<StreamId, StreamId>, StoreError> {
        let after = after.unwrap_or(StreamId::SUBSCRIPTIONS);
        let part = params![after.as_bytes(), text, retention::limit(limit)];
        let rows = self.read("search operations", OPERATIONS, part).await?.rows;
        let id = |row: &Row| Ok(StreamId::from_bytes(columns::bytes(row, 0)?));
        matches(&rows, limit, id, id)
    }

    async fn events_with(
        &self,
        text: &str,
        after: Option<EventPosition>,
        limit: usize,
    ) -> Result<Matches<EventMatch, EventPosition>, StoreError> {
        let (stream, index) = after.map_or((None, -1), |(stream, index)| (Some(stream), codec::integer(index)));
        let part = params![codec::after_stream(stream.as_ref()), index, text, retention::limit(limit)];
        let rows = self.read("search events", EVENTS, part).await?.rows;
        let position = |row: &Row| Ok((StreamId::from_bytes(columns::bytes(row, 0)?), columns::int(row, 2)?));
        let found = |row: &Row| {
            // A damaged time is no reason to overlook the event.
            let at = columns::time(row, 3).unwrap_or_default();
            let (stream, _) = position(row)?;
            Ok(EventMatch { stream, at, data: columns::text(row, 4)? })
        };
        matches(&rows, limit, found, position)
    }

    async fn idempotency_records_with(
        &self,
        text: &str,
        after: Option<IdempotencyKey>,
        limit: usize,
    ) -> Result<Matches<UnixMillis, IdempotencyKey>, StoreError> {
        let after: &[u8] = after.as_ref().map_or(&[], |key| &key.0);
        let part = params![after, text.as_bytes(), retention::limit(limit)];
        let rows = self.read("search idempotency records", RECORDS, part).await?.rows;
        let at = |row: &Row| Ok(columns::time(row, 2).unwrap_or_default());
        matches(&rows, limit, at, |row| Ok(IdempotencyKey(columns::bytes(row, 0)?)))
    }

    async fn remove_finished_of(&self, ids: Vec<StreamId>) -> Result<Vec<StreamId>, StoreError> {
        let ids = vec![list(ids.iter().map(StreamId::as_bytes))];
        let removed =
            self.write(Query::new("remove finished operations of a user", retention::FINISHED_OF, ids)).await?;
        let ids = removed.rows.iter().map(|row| Ok(StreamId::from_bytes(columns::bytes(row, 0)?)));
        Ok(ids.collect::<Result<_, PostgresFailure>>()?)
    }
}

/// Of rows whose second column says whether they match.
fn matches<F, P>(
    rows: &[Row],
    limit: usize,
    found: impl Fn(&Row) -> Result<F, PostgresFailure>,
    position: impl Fn(&Row) -> Result<P, PostgresFailure>,
) -> Result<Matches<F, P>, StoreError> {
    let is_match = |row: &&Row| columns::get::<bool>(row, 1).unwrap_or_default();
    let found = rows.iter().filter(is_match).map(found).collect::<Result<_, _>>()?;
    let next = rows.last().filter(|_| rows.len() == limit).map(position).transpose()?;
    Ok(Matches { found, next })
}
