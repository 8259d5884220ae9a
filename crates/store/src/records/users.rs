//! Finds and removes a user's data.

use async_trait::async_trait;
use usher_engine::ports::{
    EventMatch, ForgottenUser, IdempotencyKey, LoginFilter, Matches, StoreError, StreamMatches, UserPasskey,
    UserRecords, UserStore,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;

use super::{login_records, openid_records, operations, passkeys};
use crate::codec::{self, Unreadable};
use crate::engine::{Engine, SqlStore};
use crate::row::{Answer, Row};
use crate::statement::{Statement, params};

const SEARCHING: &str = "search streams";

const FORGETTING: &str = "remove what the OpenID Connect provider keeps of a user";

const PASSKEYS: Statement = Statement::new(
    "list a user's passkeys",
    "SELECT credential_id, created_at, used_at FROM passkeys WHERE main_key = ?1 ORDER BY created_at, credential_id",
);

const CONSENTS: Statement = Statement::new(
    "list a user's consents",
    "SELECT client_id, subject, scopes, at FROM openid_consents WHERE subject = ?1 ORDER BY client_id",
);

const RELAYS: Statement = Statement::new(
    "read when a user's relays were last used",
    "SELECT signer IS NOT NULL, at FROM user_relays WHERE main_key = ?1",
);

const FORGET_CONSENTS: Statement = Statement::new(FORGETTING, "DELETE FROM openid_consents WHERE subject = ?1");

const FORGET_RECORDS: Statement = Statement::new(FORGETTING, "DELETE FROM openid_records WHERE subject = ?1");

const FORGET_RELAYS: Statement =
    Statement::new("forget a user's relays", "DELETE FROM user_relays WHERE main_key = ?1");

/// The last of the next operations; read from the index alone.
const LAST_OPERATION: Statement = Statement::new(
    SEARCHING,
    "SELECT id FROM operations WHERE id > ?1 AND length(id) = 16 ORDER BY id LIMIT 1 OFFSET ?2",
);

/// Those after `?1` and up to `?2` with `?3` in a column. SQLite's `GLOB` searches several times as fast as its `instr`.
macro_rules! with {
    ($select:literal, $column:literal, $order:literal) => {
        Statement::new(SEARCHING, concat!($select, " AND ", $column, " GLOB '*' || ?3 || '*'", $order))
            .postgres(concat!($select, " AND strpos(", $column, ", ?3) > 0", $order))
    };
}

const OPERATIONS: Statement =
    with!("SELECT id FROM operations WHERE id > ?1 AND id <= ?2 AND length(id) = 16", "state", " ORDER BY id");

const EVENTS: Statement = with!(
    "SELECT stream, at, data FROM events WHERE stream > ?1 AND stream <= ?2 AND length(stream) = 16",
    "data",
    " ORDER BY stream, idx"
);

/// PostgreSQL has a different function for bytes.
const RECORDS: Statement = Statement::new(
    "search idempotency records",
    "SELECT instr(body, ?2) > 0, key, at FROM answers WHERE key > ?1 AND length(key) = 32 ORDER BY key LIMIT ?3",
)
.postgres(
    "SELECT position(?2 IN body) > 0, key, at FROM answers WHERE key > ?1 AND length(key) = 32 ORDER BY key LIMIT ?3",
);

/// Of these operations, finished ones without a pending delivery are removed.
macro_rules! finished {
    ($remove:literal, $returning:literal) => {
        Statement::new(
            "remove finished operations of a user",
            concat!(
                $remove,
                " IN (
                     SELECT id FROM operations
                     WHERE id = ?1 AND finished_at IS NOT NULL
                         AND NOT EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_status
                             WHERE status = 0 AND stream = operations.id))",
                $returning
            ),
        )
    };
}

const FINISHED: [Statement; 3] = [
    finished!("DELETE FROM events WHERE stream", ""),
    finished!("DELETE FROM deliveries WHERE stream", ""),
    finished!("DELETE FROM operations WHERE id", " RETURNING id"),
];

/// Records of logins read by one query.
const LOGINS: usize = 50_000;

#[async_trait]
impl<E: Engine> UserStore for SqlStore<E> {
    async fn forget_user(&self, main_key: &PublicKey) -> Result<ForgottenUser, StoreError> {
        let subject = main_key.to_hex();
        // Searched by readers, so that commits do not wait.
        let (mut logins, mut after) = (Vec::new(), None);
        loop {
            let last = login_records::last(LoginFilter::default(), after, LOGINS);
            let last = self.first(last, login_records::position).await?;
            logins.extend(self.all(login_records::keys_of(main_key, after, last), login_records::key).await?);
            after = last;
            if after.is_none() {
                break;
            }
        }
        let queries = vec![
            operations::FORGET_SIGNER.with(params![main_key.as_bytes()]),
            passkeys::FORGET.with(params![main_key.as_bytes()]),
            login_records::forget(logins),
            FORGET_CONSENTS.with(params![&*subject]),
            FORGET_RECORDS.with(params![&*subject]),
        ];
        let answers = self.0.write(queries).await?;
        let changed = |nth: usize| answers.get(nth).map_or(0, |answer| answer.changed);
        Ok(ForgottenUser {
            signer: changed(0) > 0,
            passkeys: changed(1),
            logins: changed(2),
            consents: changed(3),
            openid_records: changed(4),
        })
    }

    async fn user_records(&self, main_key: &PublicKey) -> Result<UserRecords, StoreError> {
        let subject = main_key.to_hex();
        let passkey =
            |row: &Row| Ok(UserPasskey { id: row.blob(0)?.to_vec(), created_at: row.time(1)?, used_at: row.time(2)? });
        let relays = |row: &Row| Ok((row.is_true(0)?, row.time(1)?));
        let relays = self.first(RELAYS.with(params![main_key.as_bytes()]), relays).await?;
        Ok(UserRecords {
            passkeys: self.all(PASSKEYS.with(params![main_key.as_bytes()]), passkey).await?,
            consents: self.all(CONSENTS.with(params![&*subject]), openid_records::consent).await?,
            signer: relays.is_some_and(|(signer, _)| signer),
            relays_at: relays.map(|(_, at)| at),
        })
    }

    async fn forget_relays_of(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        Ok(self.change(FORGET_RELAYS.with(params![main_key.as_bytes()])).await? > 0)
    }

    async fn streams_with(
        &self,
        text: &str,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<StreamMatches, StoreError> {
        let first = after.unwrap_or(StreamId::SUBSCRIPTIONS);
        let id = |row: &Row| row.bytes(0).map(StreamId::from_bytes);
        let last = LAST_OPERATION.with(params![first.as_bytes(), codec::limit(limit.saturating_sub(1))]);
        let next = self.first(last, id).await?;
        let until = || next.map_or(codec::AFTER_IDS.to_vec(), |last| last.as_bytes().to_vec());
        let operations = OPERATIONS.with(params![first.as_bytes(), until(), text]);
        let events = EVENTS.with(params![codec::after_stream(after.as_ref()), until(), text]);
        // A damaged time or text must not hide the event.
        let event = move |row: &Row| {
            let (at, data) = (row.time(1).unwrap_or_default(), row.string(2).unwrap_or_default());
            Ok(EventMatch { stream: id(row)?, at, data })
        };
        // Each by another reader.
        let (operations, events) = tokio::try_join!(self.all(operations, id), self.all(events, event))?;
        Ok(StreamMatches { operations, events, next })
    }

    async fn idempotency_records_with(
        &self,
        text: &str,
        after: Option<IdempotencyKey>,
        limit: usize,
    ) -> Result<Matches<UnixMillis, IdempotencyKey>, StoreError> {
        let after: &[u8] = after.as_ref().map_or(&[], |key| &key.0);
        let part = params![after, text.as_bytes(), codec::limit(limit)];
        let at = |row: &Row| Ok(row.time(2).unwrap_or_default());
        let key = |row: &Row| row.bytes(1).map(IdempotencyKey);
        let decode = move |found: &Answer| {
            let rows = &found.rows;
            let is_match = |row: &&Row| row.is_true(0).unwrap_or_default();
            let next = rows.last().filter(|_| rows.len() == limit).map(key).transpose()?;
            Ok(Matches { found: rows.iter().filter(is_match).map(at).collect::<Result<_, Unreadable>>()?, next })
        };
        self.answer(RECORDS.with(part), decode).await
    }

    async fn remove_finished_of(&self, ids: Vec<StreamId>) -> Result<Vec<StreamId>, StoreError> {
        let of_each = |statement: Statement| statement.each(ids.iter().map(|id| params![id.as_bytes()]));
        let removed = self.0.write(FINISHED.map(of_each).into()).await?;
        let ids = removed.last().map(|removed| removed.all(|row| Ok(StreamId::from_bytes(row.bytes(0)?))));
        Ok(ids.transpose()?.unwrap_or_default())
    }
}
