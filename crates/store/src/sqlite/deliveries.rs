//! Deliveries of events to the app: written with their events, then attempted until they are settled.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};
use usher_engine::ports::{
    Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, NewIdempotencyRecord, Retried, StoreError,
};
use usher_engine::{StreamId, UnixMillis};

use super::failure::{During as _, SqliteFailure};
use super::{SqliteStore, idempotency_records, read, retention};
use crate::codec;

#[async_trait]
impl DeliveryStore for SqliteStore {
    async fn next_delivery(&self, queue: StreamId) -> Result<Option<Delivery>, StoreError> {
        self.read(move |connection| Ok(list(connection, NEXT, &[queue.as_bytes()], 1, Damaged::Fails)?.pop())).await
    }

    async fn pending_queues(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
        self.read(move |connection| pending_queues(connection, after, limit)).await
    }

    async fn set_aside_delivery(&self, queue: StreamId, at: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError> {
        self.write(move |connection| set_aside(connection, queue, at)).await
    }

    async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError> {
        self.write(move |connection| record_attempt(connection, &attempt)).await
    }

    async fn deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.read(move |connection| {
            let (stream, index) = after.as_ref().map_or((None, 0), |(stream, index)| (Some(stream), *index));
            let after = (codec::after_stream(stream), codec::integer(index));
            list(connection, PAGE, &[&status.code(), &after.0, &after.1], limit, Damaged::LeftOut)
        })
        .await
    }

    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        self.read(move |connection| {
            let position: [&dyn ToSql; 2] = [stream.as_bytes(), &codec::integer(index)];
            Ok(list(connection, ONE, &position, 1, Damaged::Fails)?.pop())
        })
        .await
    }

    async fn retry_delivery(
        &self,
        stream: StreamId,
        index: u64,
        at: UnixMillis,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError> {
        self.write(move |connection| retry(connection, stream, index, at, record.as_ref())).await
    }

    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        self.read(count).await
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::forget_deliveries(connection, before, limit)).await
    }
}

/// A query for deliveries with their events. It names its index, so that SQLite fails if the index cannot be used. A missing
/// event makes the row unreadable rather than invisible.
macro_rules! select {
    ($index:literal, $($rest:literal),+) => {
        concat!(
            "SELECT d.idx, e.type, e.at, e.data, d.stream, d.status, d.attempts, d.since, d.due_at, d.last_attempt_at,
                 d.last_status, d.last_error, d.waited, d.queue
             FROM deliveries AS d ", $index, " LEFT JOIN events AS e ON e.stream = d.stream AND e.idx = d.idx ",
            $($rest),+
        )
    };
}

const NEXT: &str = select!("INDEXED BY deliveries_queue", "WHERE d.status = 0 AND d.queue = ?1 ORDER BY d.idx LIMIT 1");

const PAGE: &str = select!(
    "INDEXED BY deliveries_status",
    "WHERE d.status = ?1 AND (d.stream, d.idx) > (?2, ?3) ORDER BY d.stream, d.idx"
);

const ONE: &str = select!("", "WHERE d.stream = ?1 AND d.idx = ?2");

/// With `min`, SQLite takes the other columns from the row that has the minimum.
const PENDING_QUEUES: &str = "SELECT queue, due_at, min(idx) FROM deliveries INDEXED BY deliveries_queue
    WHERE status = 0 AND queue > ?1 AND length(queue) = 16 GROUP BY queue ORDER BY queue LIMIT ?2";

const AGAIN: &str = "UPDATE deliveries SET status = 0, attempts = 0, waited = 0, since = ?3, due_at = ?3
    WHERE stream = ?1 AND idx = ?2 AND status <> 0";

/// In order within a queue: it cannot be posted before those that are pending before it.
const HURRY: &str = "UPDATE deliveries INDEXED BY deliveries_queue SET due_at = ?3
    WHERE status = 0 AND queue = (SELECT queue FROM deliveries WHERE stream = ?1 AND idx = ?2) AND idx <= ?2 AND due_at > ?3";

/// In milliseconds: 35 years, so that sums stay within a column.
const MAX_WAITED: i64 = 1 << 40;

/// Adds a pending delivery of an event, due when the event happened.
pub(crate) fn put(
    connection: &Connection,
    stream: StreamId,
    index: u64,
    queue: StreamId,
    event_at: UnixMillis,
) -> Result<(), SqliteFailure> {
    connection
        .prepare_cached(
            "INSERT INTO deliveries (stream, idx, status, attempts, since, due_at, queue)
             VALUES (?1, ?2, 0, 0, ?3, ?3, ?4)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                stream.as_bytes(),
                codec::integer(index),
                codec::time(event_at),
                queue.as_bytes()
            ])
        })
        .during("put a delivery")
        .map(|_| ())
}

/// How rows that cannot be read are handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damaged {
    LeftOut,
    Fails,
}

fn list(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn ToSql],
    limit: usize,
    damaged: Damaged,
) -> Result<Vec<Delivery>, SqliteFailure> {
    const DURING: &str = "read deliveries";
    let mut statement = connection.prepare_cached(sql).during(DURING)?;
    let mut rows = statement.query(parameters).during(DURING)?;
    let mut deliveries = Vec::new();
    while deliveries.len() < limit
        && let Some(row) = rows.next().during(DURING)?
    {
        match delivery(row, DURING) {
            Err(SqliteFailure::Unreadable(_)) if damaged == Damaged::LeftOut => {}
            read => deliveries.push(read?),
        }
    }
    Ok(deliveries)
}

/// The delivery in a row that has the columns of the queries above.
pub(crate) fn delivery(row: &Row<'_>, during: &'static str) -> Result<Delivery, SqliteFailure> {
    let status = DeliveryStatus::from_code(row.get(5).during(during)?);
    Ok(Delivery {
        event: read::event(row, during)?,
        stream: StreamId::from_bytes(row.get(4).during(during)?),
        queue: StreamId::from_bytes(row.get(13).during(during)?),
        status: status.ok_or(SqliteFailure::Unreadable("a delivery's status"))?,
        attempts: row.get(6).during(during)?,
        waited: Duration::from_millis(row.get(12).during(during)?),
        since: UnixMillis(row.get(7).during(during)?),
        due_at: UnixMillis(row.get(8).during(during)?),
        last_attempt_at: row.get::<_, Option<u64>>(9).during(during)?.map(UnixMillis),
        last_status: row.get(10).during(during)?,
        last_error: row.get(11).during(during)?,
    })
}

fn pending_queues(
    connection: &Connection,
    after: Option<StreamId>,
    limit: usize,
) -> Result<Vec<(StreamId, UnixMillis)>, SqliteFailure> {
    connection
        .prepare_cached(PENDING_QUEUES)
        .and_then(|mut statement| {
            statement
                .query_map(params![codec::after_stream(after.as_ref()), codec::limit(limit)], |row| {
                    // One whose time is damaged is due now: it is set aside then.
                    let due_at = UnixMillis(row.get(1).unwrap_or_default());
                    Ok((StreamId::from_bytes(row.get(0)?), due_at))
                })?
                .collect()
        })
        .during("read the queues with pending deliveries")
}

fn record_attempt(connection: &Connection, attempt: &DeliveryAttempt) -> Result<bool, SqliteFailure> {
    let pause = i64::try_from(attempt.due_at.since(attempt.at).as_millis()).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "UPDATE deliveries SET status = ?3, attempts = attempts + 1, due_at = ?4, last_attempt_at = ?5,
                 last_status = ?6, last_error = ?7, waited = min(waited, ?8) + ?9
             WHERE stream = ?1 AND idx = ?2 AND status = 0",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                attempt.stream.as_bytes(),
                codec::integer(attempt.index),
                attempt.status.code(),
                codec::time(attempt.due_at),
                codec::time(attempt.at),
                attempt.http_status,
                attempt.error,
                MAX_WAITED,
                pause.min(MAX_WAITED),
            ])
        })
        .during("record an attempt of a delivery")
        .map(|changed| changed == 1)
}

/// Rewrites every column except the key, because any of them may be the unreadable one.
fn set_aside(
    connection: &Connection,
    queue: StreamId,
    at: UnixMillis,
) -> Result<Option<(StreamId, u64)>, SqliteFailure> {
    connection
        .prepare_cached(
            "UPDATE deliveries SET status = 2, attempts = 1, waited = 0, since = ?2, due_at = ?2, last_attempt_at = ?2,
                 last_status = NULL, last_error = 'it, or its event, is damaged in the database'
             WHERE (stream, idx) = (
                 SELECT stream, idx FROM deliveries INDEXED BY deliveries_queue WHERE status = 0 AND queue = ?1
                 ORDER BY idx LIMIT 1)
             RETURNING stream, idx",
        )
        .and_then(|mut statement| {
            let read = |row: &Row<'_>| {
                // Its stream may be damaged.
                let stream = row.get(0).unwrap_or(*queue.as_bytes());
                Ok((StreamId::from_bytes(stream), row.get::<_, i64>(1)?))
            };
            statement.query_row(params![queue.as_bytes(), codec::time(at)], read).optional()
        })
        .during("set a delivery aside")
        .map(|set_aside| set_aside.map(|(stream, index)| (stream, u64::try_from(index).unwrap_or_default())))
}

fn retry(
    connection: &Connection,
    stream: StreamId,
    index: u64,
    at: UnixMillis,
    record: Option<&NewIdempotencyRecord>,
) -> Result<Retried, SqliteFailure> {
    const DURING: &str = "make a delivery pending again";
    let execute = |sql: &str| {
        connection
            .prepare_cached(sql)
            .during(DURING)?
            .execute(params![stream.as_bytes(), codec::integer(index), codec::time(at)])
            .during(DURING)
    };
    if let Some(record) = record
        && idempotency_records::is_recorded(connection, record)?
    {
        return Ok(Retried::AlreadyRequested);
    }
    let is_there = connection
        .prepare_cached("SELECT 1 FROM deliveries WHERE stream = ?1 AND idx = ?2")
        .and_then(|mut statement| statement.exists(params![stream.as_bytes(), codec::integer(index)]))
        .during(DURING)?;
    if !is_there {
        return Ok(Retried::NotFound);
    }
    execute(AGAIN)?;
    execute(HURRY)?;
    if let Some(record) = record {
        SqliteFailure::unless_one(DURING, idempotency_records::add(connection, record)?)?;
    }
    Ok(Retried::Due)
}

pub(crate) fn count(connection: &Connection) -> Result<DeliveryCounts, SqliteFailure> {
    connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM deliveries INDEXED BY deliveries_status WHERE status = 0),
                 (SELECT count(*) FROM deliveries INDEXED BY deliveries_status WHERE status = 2)",
        )
        .and_then(|mut statement| {
            statement.query_row([], |row| Ok(DeliveryCounts { pending: row.get(0)?, failed: row.get(1)? }))
        })
        .during("count deliveries")
}
