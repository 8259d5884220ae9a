//! Corrects recorded times after the clock was set back.

use std::time::Duration;

use rusqlite::{Connection, named_params};
use usher_engine::UnixMillis;

use super::codec;
use super::failure::{During as _, SqliteFailure};

/// Each changes only rows whose times are in the future, and leaves none.
const SET_BACK: [&str; 7] = [
    "UPDATE deliveries INDEXED BY deliveries_status
     SET due_at = max(:now, due_at - :by), since = min(since, :now), last_attempt_at = min(last_attempt_at, :now)
     WHERE status = 0 AND coalesce(last_attempt_at, since) > :now AND :by >= 0",
    "UPDATE deliveries INDEXED BY deliveries_settled SET last_attempt_at = :now
     WHERE status <> 0 AND last_attempt_at > :now AND :by >= 0",
    "UPDATE operations INDEXED BY operations_finished SET finished_at = :now
     WHERE finished_at IS NOT NULL AND finished_at > :now AND :by >= 0",
    "UPDATE answers INDEXED BY answers_at SET at = :now WHERE at > :now AND :by >= 0",
    "UPDATE inbound INDEXED BY inbound_at SET at = :now WHERE at > :now AND :by >= 0",
    "UPDATE user_relays INDEXED BY user_relays_at SET at = :now WHERE at > :now AND :by >= 0",
    "UPDATE ticket_jobs INDEXED BY ticket_jobs_finished SET finished_at = :now
     WHERE finished_at IS NOT NULL AND finished_at > :now AND :by >= 0",
];

/// Each part reads the end of an index. Impossible times are excluded: they are damage.
const LATEST: &str = "SELECT max(at) FROM (
    SELECT max(last_attempt_at) AS at FROM deliveries INDEXED BY deliveries_settled
        WHERE status <> 0 AND last_attempt_at <= ?1
    UNION ALL SELECT max(finished_at) FROM operations INDEXED BY operations_finished
        WHERE finished_at IS NOT NULL AND finished_at <= ?1
    UNION ALL SELECT max(at) FROM answers INDEXED BY answers_at WHERE at <= ?1
    UNION ALL SELECT max(at) FROM inbound INDEXED BY inbound_at WHERE at <= ?1
    UNION ALL SELECT max(at) FROM user_relays INDEXED BY user_relays_at WHERE at <= ?1
    UNION ALL SELECT max(finished_at) FROM ticket_jobs INDEXED BY ticket_jobs_finished
        WHERE finished_at IS NOT NULL AND finished_at <= ?1)";

/// See [`Store::clock_set_back`](usher_engine::ports::Store::clock_set_back).
pub(crate) fn set_back(connection: &Connection, now: UnixMillis, by: Duration) -> Result<(), SqliteFailure> {
    let by = codec::integer(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
    for sql in SET_BACK {
        connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(named_params! { ":now": codec::time(now), ":by": by }))
            .during("put right what a wrong clock recorded")?;
    }
    Ok(())
}

/// See [`Store::latest_record`](usher_engine::ports::Store::latest_record).
pub(crate) fn latest_record(connection: &Connection) -> Result<Option<UnixMillis>, SqliteFailure> {
    let latest: Option<i64> = connection
        .prepare_cached(LATEST)
        .and_then(|mut statement| statement.query_row([codec::integer(codec::LATEST_TIME)], |row| row.get(0)))
        .during("read the latest time")?;
    Ok(latest.and_then(|latest| u64::try_from(latest).ok()).map(UnixMillis))
}
