//! Deliveries of events to the app: stored with their events, then attempted until they are settled.

use std::time::Duration;

use async_trait::async_trait;
use usher_engine::ports::{
    Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, NewIdempotencyRecord, Retried, StoreError,
};
use usher_engine::{StreamId, UnixMillis};

use super::{idempotency_records, operations};
use crate::codec::{self, Unreadable};
use crate::engine::{Engine, SqlStore};
use crate::row::{Answer, Row};
use crate::statement::{Query, Statement, params};

/// Selects deliveries with their events. A missing event makes the row unreadable rather than invisible.
macro_rules! select {
    ($index:literal, $($rest:literal),+) => {
        Statement::new("read deliveries", concat!(
            "SELECT d.idx, e.type, e.at, e.data, d.stream, d.status, d.attempts, d.since, d.due_at, d.last_attempt_at,
                 d.last_status, d.last_error, d.waited, d.queue
             FROM deliveries AS d", $index, " LEFT JOIN events AS e ON e.stream = d.stream AND e.idx = d.idx ",
            $($rest),+
        ))
    };
}

const NEXT: Statement =
    select!(" INDEXED BY deliveries_queue", "WHERE d.status = 0 AND d.queue = ?1 ORDER BY d.idx LIMIT 1");

const PAGE: Statement = select!(
    " INDEXED BY deliveries_status",
    "WHERE d.status = ?1 AND (d.stream, d.idx) > (?2, ?3) ORDER BY d.stream, d.idx LIMIT ?4 OFFSET ?5"
);

const ONE: Statement = select!("", "WHERE d.stream = ?1 AND d.idx = ?2");

/// With `min`, SQLite takes the other columns from the row that has the minimum.
const PENDING_QUEUES: Statement = Statement::new(
    "read the queues with pending deliveries",
    "SELECT queue, due_at, min(idx) FROM deliveries INDEXED BY deliveries_queue
     WHERE status = 0 AND queue > ?1 AND length(queue) = 16 GROUP BY queue ORDER BY queue LIMIT ?2",
)
.postgres(
    "SELECT DISTINCT ON (queue) queue, due_at FROM deliveries
     WHERE status = 0 AND queue > ?1 AND length(queue) = 16 ORDER BY queue, idx LIMIT ?2",
);

/// Pending, and due at the event's time.
const PUT: Statement = Statement::new(
    "put deliveries",
    "INSERT INTO deliveries (stream, idx, queue, since, due_at, status, attempts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
);

const IS_THERE: Statement =
    Statement::new("look for a delivery", "SELECT 1 FROM deliveries WHERE stream = ?1 AND idx = ?2");

const AGAIN: Statement = Statement::new(
    "make a delivery pending again",
    "UPDATE deliveries SET status = 0, attempts = 0, waited = 0, since = ?3, due_at = ?3
     WHERE stream = ?1 AND idx = ?2 AND status <> 0",
);

/// Earlier pending ones of the queue too: they must be posted first.
const HURRY: Statement = Statement::new(
    "make the deliveries before it due",
    "UPDATE deliveries INDEXED BY deliveries_queue SET due_at = ?3
     WHERE status = 0 AND queue = (SELECT queue FROM deliveries WHERE stream = ?1 AND idx = ?2) AND idx <= ?2
         AND due_at > ?3",
);

const ATTEMPT: Statement = Statement::new(
    "record an attempt of a delivery",
    "UPDATE deliveries SET status = ?3, attempts = attempts + 1, due_at = ?4, last_attempt_at = ?5, last_status = ?6,
         last_error = ?7, waited = CASE WHEN waited < ?8 THEN waited ELSE ?8 END + ?9
     WHERE stream = ?1 AND idx = ?2 AND status = 0",
);

/// Rewrites every column except the key, because any of them may be the unreadable one.
const SET_ASIDE: Statement = Statement::new(
    "set a delivery aside",
    "UPDATE deliveries SET status = 2, attempts = 1, waited = 0, since = ?2, due_at = ?2, last_attempt_at = ?2,
         last_status = NULL, last_error = 'it, or its event, is damaged in the database'
     WHERE (stream, idx) = (
         SELECT stream, idx FROM deliveries INDEXED BY deliveries_queue WHERE status = 0 AND queue = ?1
         ORDER BY idx LIMIT 1)
     RETURNING stream, idx",
);

const COUNT: Statement = Statement::new(
    "count deliveries",
    "SELECT (SELECT count(*) FROM deliveries INDEXED BY deliveries_status WHERE status = 0),
         (SELECT count(*) FROM deliveries INDEXED BY deliveries_status WHERE status = 2)",
);

const OLD: Statement = Statement::new(
    "forget deliveries",
    "DELETE FROM deliveries WHERE (stream, idx) IN (
         SELECT stream, idx FROM deliveries INDEXED BY deliveries_settled
         WHERE status <> 0 AND last_attempt_at >= 0 AND last_attempt_at < ?1
         ORDER BY last_attempt_at, stream, idx LIMIT ?2)",
);

/// In milliseconds: 35 years, so that sums stay within a column.
const MAX_WAITED: i64 = 1 << 40;

#[async_trait]
impl<E: Engine> DeliveryStore for SqlStore<E> {
    async fn next_delivery(&self, queue: StreamId) -> Result<Option<Delivery>, StoreError> {
        self.first(NEXT.with(params![queue.as_bytes()]), delivery).await
    }

    async fn pending_queues(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
        let page = params![codec::after_stream(after.as_ref()), codec::limit(limit)];
        // A damaged time counts as due now: the delivery is then set aside.
        let queue = |row: &Row| Ok((StreamId::from_bytes(row.bytes(0)?), row.time(1).unwrap_or_default()));
        self.all(PENDING_QUEUES.with(page), queue).await
    }

    async fn set_aside_delivery(&self, queue: StreamId, at: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError> {
        let changed = self.0.write(vec![SET_ASIDE.with(params![queue.as_bytes(), codec::time(at)])]).await?;
        let set_aside = changed.first().and_then(|changed| changed.rows.first()).map(|row| {
            // The stream may be damaged.
            let stream = row.bytes(0).unwrap_or(*queue.as_bytes());
            (StreamId::from_bytes(stream), row.int(1).unwrap_or_default())
        });
        Ok(set_aside)
    }

    async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError> {
        let pause = i64::try_from(attempt.due_at.since(attempt.at).as_millis()).unwrap_or(i64::MAX);
        let columns = params![
            attempt.stream.as_bytes(),
            codec::integer(attempt.index),
            attempt.status.code(),
            codec::time(attempt.due_at),
            codec::time(attempt.at),
            attempt.http_status,
            attempt.error.as_deref(),
            MAX_WAITED,
            pause.min(MAX_WAITED),
        ];
        Ok(self.change(ATTEMPT.with(columns)).await? == 1)
    }

    async fn deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (stream, index) = after.as_ref().map_or((None, 0), |(stream, index)| (Some(stream), *index));
        let from = params![status.code(), codec::after_stream(stream), codec::integer(index)];
        self.readable(PAGE, from, limit, delivery).await
    }

    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        self.first(ONE.with(params![stream.as_bytes(), codec::integer(index)]), delivery).await
    }

    async fn retry_delivery(
        &self,
        stream: StreamId,
        index: u64,
        at: UnixMillis,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError> {
        let mut reads = vec![IS_THERE.with(params![stream.as_bytes(), codec::integer(index)])];
        reads.extend(record.as_ref().map(idempotency_records::is_recorded));
        let decide = move |read: &[Answer]| {
            let mut found = read.iter().map(|answer| !answer.rows.is_empty());
            let (is_there, is_recorded) = (found.next() == Some(true), found.next() == Some(true));
            if is_recorded {
                return Ok((Retried::AlreadyRequested, Vec::new()));
            }
            if !is_there {
                return Ok((Retried::NotFound, Vec::new()));
            }
            let due = || params![stream.as_bytes(), codec::integer(index), codec::time(at)];
            let record = idempotency_records::put(record.iter().map(|new| &new.record));
            Ok((Retried::Due, vec![AGAIN.with(due()), HURRY.with(due()), record]))
        };
        self.0.decide(reads, decide).await
    }

    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        Ok(self.first(count(), counts).await?.unwrap_or_default())
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.remove(OLD, before, limit).await
    }
}

/// Adds pending deliveries: stream, index, queue, and due time, which is the event's.
pub(crate) fn put(deliveries: &[(StreamId, u64, StreamId, UnixMillis)]) -> Query {
    let pending = i64::from(DeliveryStatus::Pending.code());
    PUT.each(deliveries.iter().map(|(stream, index, queue, at)| {
        let (index, at) = (codec::integer(*index), codec::time(*at));
        params![stream.as_bytes(), index, queue.as_bytes(), at, at, pending, 0_i64]
    }))
}

/// Counts pending and given-up deliveries.
pub(crate) fn count() -> Query {
    COUNT.with(params![])
}

/// The answer to [`count`].
pub(crate) fn counts(row: &Row) -> Result<DeliveryCounts, Unreadable> {
    Ok(DeliveryCounts { pending: row.int(0)?, failed: row.int(1)? })
}

pub(crate) fn delivery(row: &Row) -> Result<Delivery, Unreadable> {
    let status = DeliveryStatus::from_code(row.int(5)?);
    Ok(Delivery {
        event: operations::event(row)?,
        stream: StreamId::from_bytes(row.bytes(4)?),
        queue: StreamId::from_bytes(row.bytes(13)?),
        status: status.ok_or(Unreadable("a delivery's status"))?,
        attempts: row.int(6)?,
        waited: Duration::from_millis(row.int(12)?),
        since: row.time(7)?,
        due_at: row.time(8)?,
        last_attempt_at: row.optional_time(9)?,
        last_status: row.optional_int(10)?,
        last_error: row.optional_string(11)?,
    })
}
