//! The port of operations, and the removal of data past its retention.

use async_trait::async_trait;
use usher_engine::event::Event;
use usher_engine::ports::{
    AllCommitted, BookedPayment, Commit, CorrelationKey, EndedLogin, HourlySums, LoginFilter, LoginPosition, Matches,
    OpenOperation, OperationKind, OutboxMessage, Passkey, PasskeyCount, PaymentFilter, PaymentPosition, PaymentSearch,
    SignerSession, Store, StoreError, StoredOperation,
};
use usher_engine::{Order, StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use super::{hourly_sums, login_records, operations, passkeys, payment_records};
use crate::codec;
use crate::engine::{Engine, SqlStore, bounds};
use crate::row::{Answer, Row};
use crate::statement::{Statement, params};

/// Selects the finished operations to remove: without pending deliveries, and without an impossible (damaged) time.
///
/// They have no correlation keys or outgoing messages, only events, deliveries and their rows. The first two statements
/// do not change what the later ones select.
macro_rules! finished {
    ($remove:literal) => {
        Statement::new(
            "remove finished operations",
            concat!(
                $remove,
                " IN (
                     SELECT id FROM operations INDEXED BY operations_finished
                     WHERE finished_at IS NOT NULL AND finished_at >= 0 AND finished_at < ?1 AND length(id) = 16
                         AND NOT EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_status
                             WHERE status = 0 AND stream = operations.id)
                     ORDER BY finished_at, id LIMIT ?2)"
            ),
        )
    };
}

const FINISHED: [Statement; 3] = [
    finished!("DELETE FROM events WHERE stream"),
    finished!("DELETE FROM deliveries WHERE stream"),
    finished!("DELETE FROM operations WHERE id"),
];

const WITHOUT_EVENTS: Statement = Statement::new(
    "remove operations without events",
    "DELETE FROM operations WHERE id = ?1 AND finished_at IS NOT NULL AND next_index = 0",
);

const EVENTLESS: Statement = Statement::new(
    "remove finished operations without events",
    "DELETE FROM operations WHERE id IN (
         SELECT id FROM operations INDEXED BY operations_eventless
         WHERE finished_at IS NOT NULL AND next_index = 0 AND kind = ?3 AND finished_at >= 0 AND finished_at < ?1
         ORDER BY finished_at LIMIT ?2)",
);

/// Of stream `?1`, before `?2`, at most `?3`. Reads and removes no more rows than that, however long the stream.
const OLD_EVENTS: Statement = Statement::new(
    "remove events",
    "WITH bounds AS (
         SELECT o.next_index - 1 AS newest, (SELECT min(idx) FROM events WHERE stream = ?1) AS oldest
         FROM operations AS o WHERE o.id = ?1 AND o.finished_at IS NULL
     ),
     part AS (
         SELECT oldest, CASE WHEN newest < oldest + ?3 THEN newest ELSE oldest + ?3 END AS stop FROM bounds
     ),
     stays AS (
         SELECT min(idx) AS idx FROM (
             SELECT min(idx) AS idx FROM deliveries
             WHERE stream = ?1 AND idx >= (SELECT oldest FROM part) AND idx < (SELECT stop FROM part)
             UNION ALL
             SELECT min(idx) FROM events
             WHERE stream = ?1 AND idx >= (SELECT oldest FROM part) AND idx < (SELECT stop FROM part) AND at >= ?2
         ) AS either
     )
     DELETE FROM events WHERE stream = ?1 AND idx >= (SELECT oldest FROM part)
         AND idx < coalesce((SELECT idx FROM stays), (SELECT stop FROM part))",
);

const KEEP_USERS: Statement = Statement::new(
    "note that users' relays are in use",
    "WITH n (main_key, at, noted_before) AS (VALUES (?1, ?2, ?3))
     UPDATE user_relays SET at = n.at FROM n WHERE user_relays.main_key = n.main_key AND user_relays.at < n.noted_before",
);

const OLD_USERS: Statement = Statement::new(
    "forget users' relays",
    "DELETE FROM user_relays WHERE main_key IN (
         SELECT main_key FROM user_relays WHERE at < ?1 ORDER BY at, main_key LIMIT ?2)",
);

const OLD_INBOUND: Statement = Statement::new(
    "forget inbound events",
    "DELETE FROM inbound WHERE id IN (SELECT id FROM inbound WHERE at < ?1 ORDER BY at, id LIMIT ?2)",
);

const OLD_KEYS: Statement = Statement::new(
    "free correlation keys",
    "DELETE FROM correlations WHERE key IN (
         SELECT key FROM correlations INDEXED BY correlations_kept
         WHERE until IS NOT NULL AND until < ?1 ORDER BY until, key LIMIT ?2)",
);

#[async_trait]
impl<E: Engine> Store for SqlStore<E> {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        self.0.commit(commits).await
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        self.first(operations::OPERATION.with(params![id.as_bytes()]), operations::operation).await
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        self.first(operations::WITH_KEY.with(params![key.as_bytes()]), operations::with_id).await
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let part = params![stream.as_bytes(), codec::integer(after), codec::limit(limit)];
        self.answer(operations::EVENTS.with(part), operations::events).await
    }

    async fn operation_and_events(
        &self,
        id: StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Option<(StoredOperation, Result<Vec<Event>, StoreError>)>, StoreError> {
        let part = params![id.as_bytes(), codec::integer(after), codec::limit(limit)];
        // In this order: the events are at least as new as the operation.
        let queries = vec![operations::OPERATION.with(params![id.as_bytes()]), operations::EVENTS.with(part)];
        let decode = |found: &[Answer]| {
            let [operation, events] = found else { return Ok(None) };
            let operation = operation.first(operations::operation)?;
            Ok(operation.map(|operation| (operation, operations::events(events))))
        };
        self.0.read(queries, decode).await
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        self.all(operations::OUTBOX.with(params![operation.as_bytes()]), operations::outbox_message).await
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        let page = params![codec::after_stream(after.as_ref()), codec::limit(limit)];
        self.all(operations::OPEN_OPERATIONS.with(page), operations::open_operation).await
    }

    async fn subscriptions(
        &self,
        order: Order,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        let (statement, from) = match order {
            Order::Oldest => (operations::SUBSCRIPTIONS, codec::after_stream(after.as_ref())),
            Order::Newest => {
                (operations::NEWEST_SUBSCRIPTIONS, after.as_ref().map_or(&codec::AFTER_IDS[..], |id| id.as_bytes()))
            }
        };
        self.readable(statement, params![from], limit, operations::with_id).await
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        let relays = |row: &Row| codec::relays(row.text(0)?);
        let found = self.first(operations::RELAYS.with(params![main_key.as_bytes()]), relays).await?;
        Ok(found.unwrap_or_default())
    }

    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        let signer = |row: &Row| row.optional_string(0);
        let found = self.first(operations::SIGNER.with(params![main_key.as_bytes()]), signer).await?;
        Ok(found.flatten().map(SignerSession))
    }

    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        Ok(self.change(operations::FORGET_SIGNER.with(params![main_key.as_bytes()])).await? > 0)
    }

    async fn passkey(&self, credential_id: &[u8]) -> Result<Option<Passkey>, StoreError> {
        self.first(passkeys::READ.with(params![credential_id]), passkeys::read).await
    }

    async fn passkey_count(&self, main_key: &PublicKey) -> Result<PasskeyCount, StoreError> {
        let count = |row: &Row| Ok(PasskeyCount { in_all: row.int(0)?, of_user: row.int(1)? });
        let counted = self.first(passkeys::COUNT.with(params![main_key.as_bytes()]), count).await?;
        counted.ok_or(StoreError::Unreadable("the number of passkeys"))
    }

    async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError> {
        self.change(passkeys::FORGET.with(params![main_key.as_bytes()])).await
    }

    async fn forget_unused_passkeys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(passkeys::FORGET_UNUSED, before, limit).await
    }

    async fn payment_records(
        &self,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError> {
        let (statement, selection) = payment_records::list(filter, after);
        self.readable(statement, selection, limit, payment_records::read).await
    }

    async fn newest_payments(
        &self,
        search: &PaymentSearch,
        filter: PaymentFilter,
        before: Option<PaymentPosition>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError> {
        let (statement, selection) = payment_records::search(search, filter, before);
        self.readable(statement, selection, limit, payment_records::read).await
    }

    async fn large_payments(
        &self,
        above: u64,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError> {
        let selection = params![codec::integer(above), codec::time(from)];
        self.readable(payment_records::LARGE, selection, limit, payment_records::read).await
    }

    async fn payment_record(&self, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        self.first(payment_records::FIND.with(params![id.as_bytes()]), payment_records::read).await
    }

    async fn refunded(&self, payment: StreamId) -> Result<u64, StoreError> {
        let sum = self.first(payment_records::REFUNDED.with(params![payment.as_bytes()]), |row| row.int(0)).await?;
        sum.ok_or(StoreError::Unreadable("what is refunded"))
    }

    async fn is_paid(&self, hash: PaymentHash) -> Result<bool, StoreError> {
        let of = params![hash.as_bytes(), CorrelationKey::invoice(hash).as_bytes()];
        Ok(self.first(payment_records::PAID.with(of), |_| Ok(())).await?.is_some())
    }

    async fn forget_payment_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(payment_records::FORGET, before, limit).await
    }

    async fn hourly_sums(&self, from: u64, to: u64) -> Result<Vec<HourlySums>, StoreError> {
        let hours = params![codec::integer(from), codec::integer(to)];
        self.all(hourly_sums::LIST.with(hours), hourly_sums::read).await
    }

    async fn login_records(
        &self,
        filter: LoginFilter,
        after: Option<LoginPosition>,
        most: usize,
    ) -> Result<Matches<EndedLogin, LoginPosition>, StoreError> {
        let Some(subject) = filter.of else {
            let selection = login_records::list(filter, after);
            let found = self.readable(login_records::LIST, selection, most, login_records::read).await?;
            let next = found.last().map(|login| login.position).filter(|_| found.len() == most);
            return Ok(Matches { found, next });
        };
        let next = self.first(login_records::last(filter, after, most), login_records::position).await?;
        let readable = |row: &Row| Ok(login_records::read(row).ok());
        let found = self.all(login_records::of(subject, filter, after, next), readable).await?;
        Ok(Matches { found: found.into_iter().flatten().collect(), next })
    }

    async fn forget_login_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(login_records::FORGET, before, limit).await
    }

    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let queries = FINISHED.map(|statement| statement.with(bounds(finished_before, limit)));
        self.change_all(queries.into()).await
    }

    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError> {
        self.0.write_blind(vec![WITHOUT_EVENTS.each(ids.iter().map(|id| params![id.as_bytes()]))]).await
    }

    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let selection = params![codec::time(finished_before), codec::limit(limit), kind.code()];
        self.change(EVENTLESS.with(selection)).await
    }

    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change(OLD_EVENTS.with(params![stream.as_bytes(), codec::time(before), codec::limit(limit)])).await
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        let (now, noted_before) = (codec::time(at), codec::time(at.minus(codec::RELAYS_NOTED_EVERY)));
        let users = users.iter().map(|user| params![user.as_bytes(), now, noted_before]);
        self.0.write_blind(vec![KEEP_USERS.each(users)]).await
    }

    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(OLD_USERS, before, limit).await
    }

    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(OLD_INBOUND, before, limit).await
    }

    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(OLD_KEYS, before, limit).await
    }
}
