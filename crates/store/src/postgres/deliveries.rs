//! Deliveries of events to the app: written with their events, then attempted until they are settled.

use std::time::Duration;

use async_trait::async_trait;
use tokio_postgres::Row;
use usher_engine::ports::{
    Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, NewIdempotencyRecord, Retried, StoreError,
};
use usher_engine::{StreamId, UnixMillis};

use super::failure::PostgresFailure;
use super::query::{Answer, Query, list, params};
use super::{PostgresStore, columns, idempotency_records, read, retention};
use crate::codec;

/// A query for deliveries with their events. A missing event makes the row unreadable rather than invisible.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT d.idx, e.type, e.at, e.data, d.stream, d.status, d.attempts, d.since, d.due_at, d.last_attempt_at,
                 d.last_status, d.last_error, d.waited, d.queue
             FROM deliveries AS d LEFT JOIN events AS e ON e.stream = d.stream AND e.idx = d.idx ",
            $rest
        )
    };
}

const NEXT: &str = select!("WHERE d.status = 0 AND d.queue = $1 ORDER BY d.idx LIMIT 1");

const PAGE: &str =
    select!("WHERE d.status = $1 AND (d.stream, d.idx) > ($2, $3) ORDER BY d.stream, d.idx LIMIT $4 OFFSET $5");

const ONE: &str = select!("WHERE d.stream = $1 AND d.idx = $2");

const PENDING_QUEUES: &str = "SELECT DISTINCT ON (queue) queue, due_at FROM deliveries
    WHERE status = 0 AND queue > $1 AND octet_length(queue) = 16 ORDER BY queue, idx LIMIT $2";

const AGAIN: &str = "UPDATE deliveries SET status = 0, attempts = 0, waited = 0, since = $3, due_at = $3
    WHERE stream = $1 AND idx = $2 AND status <> 0";

/// In order within a queue: it cannot be posted before those that are pending before it.
const HURRY: &str = "UPDATE deliveries SET due_at = $3
    WHERE status = 0 AND queue = (SELECT queue FROM deliveries WHERE stream = $1 AND idx = $2) AND idx <= $2 AND due_at > $3";

const ATTEMPT: &str = "UPDATE deliveries SET status = $3, attempts = attempts + 1, due_at = $4, last_attempt_at = $5,
        last_status = $6, last_error = $7, waited = least(waited, $8) + $9
    WHERE stream = $1 AND idx = $2 AND status = 0";

/// Rewrites every column except the key, because any of them may be the unreadable one.
const SET_ASIDE: &str = "UPDATE deliveries SET status = 2, attempts = 1, waited = 0, since = $2, due_at = $2,
        last_attempt_at = $2, last_status = NULL, last_error = 'it, or its event, is damaged in the database'
    WHERE (stream, idx) = (
        SELECT stream, idx FROM deliveries WHERE status = 0 AND queue = $1 ORDER BY idx LIMIT 1)
    RETURNING stream, idx";

/// In milliseconds: 35 years, so that sums stay within a column.
const MAX_WAITED: i64 = 1 << 40;

#[async_trait]
impl DeliveryStore for PostgresStore {
    async fn next_delivery(&self, queue: StreamId) -> Result<Option<Delivery>, StoreError> {
        let found = self.read("read deliveries", NEXT, params![queue.as_bytes()]).await?;
        Ok(found.rows.first().map(delivery).transpose()?)
    }

    async fn pending_queues(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
        let page = params![codec::after_stream(after.as_ref()), codec::limit(limit)];
        let found = self.read("read the queues with pending deliveries", PENDING_QUEUES, page).await?;
        let queue = |row| {
            // One whose time is damaged is due now: it is set aside then.
            let due_at = columns::time(row, 1).unwrap_or_default();
            Ok((StreamId::from_bytes(columns::bytes(row, 0)?), due_at))
        };
        found.rows.iter().map(queue).collect()
    }

    async fn set_aside_delivery(&self, queue: StreamId, at: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError> {
        let query = Query::new("set a delivery aside", SET_ASIDE, params![queue.as_bytes(), codec::time(at)]);
        let changed = self.write(query).await?;
        let set_aside = changed.rows.first().map(|row| {
            // Its stream may be damaged.
            let stream = columns::bytes(row, 0).unwrap_or(*queue.as_bytes());
            (StreamId::from_bytes(stream), columns::int(row, 1).unwrap_or_default())
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
        Ok(self.change("record an attempt of a delivery", ATTEMPT, columns).await? == 1)
    }

    async fn deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (stream, index) = after.as_ref().map_or((None, 0), |(stream, index)| (Some(stream), *index));
        let from = params![status.code(), codec::after_stream(stream), codec::integer(index)];
        self.readable("read deliveries", PAGE, from, limit, delivery).await
    }

    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        let position = params![stream.as_bytes(), codec::integer(index)];
        let found = self.read("read deliveries", ONE, position).await?;
        Ok(found.rows.first().map(delivery).transpose()?)
    }

    async fn retry_delivery(
        &self,
        stream: StreamId,
        index: u64,
        at: UnixMillis,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError> {
        const DURING: &str = "make a delivery pending again";
        const IS_THERE: &str = "SELECT 1 FROM deliveries WHERE stream = $1 AND idx = $2";
        let position = || params![stream.as_bytes(), codec::integer(index)];
        let mut reads = vec![Query::new(DURING, IS_THERE, position())];
        if let Some(new) = &record {
            let recorded = idempotency_records::is_recorded(new);
            reads.push(Query::new(DURING, idempotency_records::IS_RECORDED, recorded));
        }
        let decide = move |read: Vec<super::query::Answer>| {
            let mut found = read.iter().map(|answer| !answer.rows.is_empty());
            let (is_there, is_recorded) = (found.next() == Some(true), found.next() == Some(true));
            if is_recorded {
                return Ok((Retried::AlreadyRequested, Vec::new()));
            }
            if !is_there {
                return Ok((Retried::NotFound, Vec::new()));
            }
            let due = || params![stream.as_bytes(), codec::integer(index), codec::time(at)];
            let mut writes = vec![Query::new(DURING, AGAIN, due()), Query::new(DURING, HURRY, due())];
            writes.extend(record.iter().map(|new| idempotency_records::put(std::iter::once(&new.record))));
            Ok((Retried::Due, writes))
        };
        self.queue.decision(reads, decide).await
    }

    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        Ok(counts(&self.read("count deliveries", COUNT, params![]).await?)?)
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change("forget deliveries", retention::DELIVERIES, retention::bounds(before, limit)).await
    }
}

/// Adds pending deliveries of events: stream, index, queue, and when they are due, which is when the event happened.
pub(super) fn put(deliveries: &[(StreamId, u64, StreamId, UnixMillis)]) -> Query {
    const PUT: &str = "INSERT INTO deliveries (stream, idx, status, attempts, since, due_at, queue)
        SELECT n.stream, n.idx, 0, 0, n.at, n.at, n.queue
        FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bigint[]) AS n (stream, idx, queue, at)";
    let columns = vec![
        list(deliveries.iter().map(|(stream, ..)| stream.as_bytes())),
        list(deliveries.iter().map(|(_, index, ..)| codec::integer(*index))),
        list(deliveries.iter().map(|(_, _, queue, _)| queue.as_bytes())),
        list(deliveries.iter().map(|(.., at)| codec::time(*at))),
    ];
    Query::new("put deliveries", PUT, columns)
}

/// Those that are pending, and those that were given up.
pub(super) const COUNT: &str = "SELECT (SELECT count(*) FROM deliveries WHERE status = 0),
    (SELECT count(*) FROM deliveries WHERE status = 2)";

/// The answer to [`COUNT`].
pub(super) fn counts(answer: &Answer) -> Result<DeliveryCounts, PostgresFailure> {
    match answer.rows.first() {
        Some(row) => Ok(DeliveryCounts { pending: columns::int(row, 0)?, failed: columns::int(row, 1)? }),
        None => Ok(DeliveryCounts::default()),
    }
}

pub(super) fn delivery(row: &Row) -> Result<Delivery, PostgresFailure> {
    let status = DeliveryStatus::from_code(columns::int(row, 5)?);
    Ok(Delivery {
        event: read::event(row)?,
        stream: StreamId::from_bytes(columns::bytes(row, 4)?),
        queue: StreamId::from_bytes(columns::bytes(row, 13)?),
        status: status.ok_or(PostgresFailure::Unreadable("a delivery's status"))?,
        attempts: columns::int(row, 6)?,
        waited: Duration::from_millis(columns::int(row, 12)?),
        since: columns::time(row, 7)?,
        due_at: columns::time(row, 8)?,
        last_attempt_at: columns::optional_time(row, 9)?,
        last_status: columns::optional_int(row, 10)?,
        last_error: columns::optional_text(row, 11)?,
    })
}
