//! Removes rows whose retention is over.

use rusqlite::{Connection, OptionalExtension as _, params};
use usher_engine::ports::OperationKind;
use usher_engine::{StreamId, UnixMillis};

use super::failure::{During as _, SqliteFailure};
use super::read;
use crate::codec;

/// What [`remove_finished`] removes. A row with an impossible time is damaged, and stays.
const FINISHED: &str = "SELECT id FROM operations INDEXED BY operations_finished
    WHERE finished_at IS NOT NULL AND finished_at >= 0 AND finished_at < ?1 AND length(id) = 16 AND NOT EXISTS (
        SELECT 1 FROM deliveries INDEXED BY deliveries_status WHERE status = 0 AND stream = operations.id
    )
    ORDER BY finished_at, id LIMIT ?2";

/// See [`Store::remove_finished`](usher_engine::ports::Store::remove_finished).
///
/// A finished operation has neither correlation keys nor outgoing messages: its events, their deliveries and its row
/// are all there is. One with a pending delivery stays: looking for it costs one step in an index.
pub(crate) fn remove_finished(
    connection: &Connection,
    finished_before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const DURING: &str = "remove finished operations";
    let finished: Vec<[u8; 16]> = connection
        .prepare_cached(FINISHED)
        .during(DURING)?
        .query_map(params![codec::time(finished_before), codec::limit(limit)], |row| row.get(0))
        .and_then(Iterator::collect)
        .during(DURING)?;
    finished.iter().try_for_each(|id| remove(connection, id, DURING))?;
    Ok(finished.len())
}

/// See [`UserStore::remove_finished_of`](usher_engine::ports::UserStore::remove_finished_of).
pub(crate) fn remove_finished_of(connection: &Connection, ids: &[StreamId]) -> Result<Vec<StreamId>, SqliteFailure> {
    const DURING: &str = "remove finished operations of a user";
    let mut removed = Vec::new();
    for id in ids {
        let is_removable = connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM operations WHERE id = ?1 AND finished_at IS NOT NULL) AND NOT EXISTS (
                     SELECT 1 FROM deliveries INDEXED BY deliveries_status WHERE status = 0 AND stream = ?1)",
            )
            .and_then(|mut statement| statement.query_row([id.as_bytes()], |row| row.get(0)))
            .during(DURING)?;
        if is_removable {
            remove(connection, id.as_bytes(), DURING)?;
            removed.push(*id);
        }
    }
    Ok(removed)
}

/// Removes a finished operation with its events and their deliveries.
fn remove(connection: &Connection, id: &[u8; 16], during: &'static str) -> Result<(), SqliteFailure> {
    for sql in ["DELETE FROM events WHERE stream = ?1", "DELETE FROM deliveries WHERE stream = ?1"] {
        connection.prepare_cached(sql).and_then(|mut statement| statement.execute([id])).during(during)?;
    }
    let changed = connection
        .prepare_cached("DELETE FROM operations WHERE id = ?1 AND finished_at IS NOT NULL")
        .and_then(|mut statement| statement.execute([id]))
        .during(during)?;
    SqliteFailure::unless_one(during, changed)
}

/// See [`Store::remove_without_events`](usher_engine::ports::Store::remove_without_events).
pub(crate) fn remove_without_events(connection: &Connection, ids: &[StreamId]) -> Result<(), SqliteFailure> {
    const DURING: &str = "remove operations without events";
    for id in ids {
        connection
            .prepare_cached("DELETE FROM operations WHERE id = ?1 AND finished_at IS NOT NULL AND next_index = 0")
            .and_then(|mut statement| statement.execute([id.as_bytes()]))
            .during(DURING)?;
    }
    Ok(())
}

/// What [`remove_eventless`] removes.
const EVENTLESS: &str = "DELETE FROM operations WHERE id IN (
    SELECT id FROM operations INDEXED BY operations_eventless
    WHERE finished_at IS NOT NULL AND next_index = 0 AND kind = ?3 AND finished_at >= 0 AND finished_at < ?1
    ORDER BY finished_at LIMIT ?2)";

/// See [`Store::remove_eventless`](usher_engine::ports::Store::remove_eventless).
pub(crate) fn remove_eventless(
    connection: &Connection,
    kind: OperationKind,
    finished_before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    connection
        .prepare_cached(EVENTLESS)
        .and_then(|mut statement| {
            statement.execute(params![codec::time(finished_before), codec::limit(limit), kind.code()])
        })
        .during("remove finished operations without events")
}

/// The first of the events from `?2` to before `?3` that must stay: by its time, or since it has a delivery.
const STAYS: &str = "SELECT min(idx) FROM (
        SELECT min(idx) AS idx FROM deliveries WHERE stream = ?1 AND idx >= ?2 AND idx < ?3
        UNION ALL
        SELECT min(idx) FROM events WHERE stream = ?1 AND idx >= ?2 AND idx < ?3 AND at >= ?4
    )";

/// See [`Store::remove_events`](usher_engine::ports::Store::remove_events).
///
/// However long the stream, it reads and removes no more than `limit` rows.
pub(crate) fn remove_events(
    connection: &Connection,
    stream: StreamId,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const DURING: &str = "remove events";
    let newest = connection
        .prepare_cached("SELECT next_index - 1 FROM operations WHERE id = ?1 AND finished_at IS NULL")
        .and_then(|mut statement| statement.query_row([stream.as_bytes()], |row| row.get::<_, i64>(0)).optional())
        .during(DURING)?;
    let first = read::first_index(connection, stream)?;
    let (Some(newest), Some(first)) = (newest, first) else { return Ok(0) };
    let first = codec::integer(first);
    let end = first.saturating_add(codec::limit(limit)).min(newest);
    let stays = connection
        .prepare_cached(STAYS)
        .and_then(|mut statement| {
            let parameters = params![stream.as_bytes(), first, end, codec::time(before)];
            statement.query_row(parameters, |row| row.get::<_, Option<i64>>(0))
        })
        .during(DURING)?;
    connection
        .prepare_cached("DELETE FROM events WHERE stream = ?1 AND idx >= ?2 AND idx < ?3")
        .and_then(|mut statement| statement.execute(params![stream.as_bytes(), first, stays.unwrap_or(end)]))
        .during(DURING)
}

/// See [`Store::forget_inbound`](usher_engine::ports::Store::forget_inbound).
pub(crate) fn forget_inbound(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const OLD: &str = "DELETE FROM inbound WHERE id IN (SELECT id FROM inbound WHERE at < ?1 ORDER BY at, id LIMIT ?2)";
    forget(connection, OLD, before, limit, "forget inbound events")
}

/// See [`Store::forget_kept_keys`](usher_engine::ports::Store::forget_kept_keys).
pub(crate) fn forget_kept_keys(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const OLD: &str = "DELETE FROM correlations WHERE key IN (
        SELECT key FROM correlations INDEXED BY correlations_kept
        WHERE until IS NOT NULL AND until < ?1 ORDER BY until, key LIMIT ?2)";
    forget(connection, OLD, before, limit, "free correlation keys")
}

/// See [`Store::forget_user_relays`](usher_engine::ports::Store::forget_user_relays).
pub(crate) fn forget_user_relays(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const OLD: &str = "DELETE FROM user_relays WHERE main_key IN (
        SELECT main_key FROM user_relays WHERE at < ?1 ORDER BY at, main_key LIMIT ?2)";
    forget(connection, OLD, before, limit, "forget users' relays")
}

/// See [`IdempotencyStore::remove_idempotency_records`](usher_engine::ports::IdempotencyStore::remove_idempotency_records).
pub(crate) fn remove_idempotency_records(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const OLD: &str = "DELETE FROM answers WHERE key IN (
        SELECT key FROM answers WHERE at < ?1 ORDER BY at, key LIMIT ?2)";
    forget(connection, OLD, before, limit, "remove idempotency records")
}

/// See [`DeliveryStore::forget_deliveries`](usher_engine::ports::DeliveryStore::forget_deliveries).
pub(crate) fn forget_deliveries(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const OLD: &str = "DELETE FROM deliveries WHERE (stream, idx) IN (
        SELECT stream, idx FROM deliveries INDEXED BY deliveries_settled
        WHERE status <> 0 AND last_attempt_at >= 0 AND last_attempt_at < ?1 ORDER BY last_attempt_at, stream, idx LIMIT ?2)";
    forget(connection, OLD, before, limit, "forget deliveries")
}

/// The jobs that [`remove_ticket_jobs`] removes: none that still has proofs reserved, because no job would own them.
const FINISHED_JOBS: &str = "SELECT id FROM ticket_jobs INDEXED BY ticket_jobs_finished
    WHERE finished_at IS NOT NULL AND finished_at >= 0 AND finished_at < ?1 AND length(id) = 32 AND NOT EXISTS (
        SELECT 1 FROM ticket_proofs INDEXED BY ticket_proofs_reserved WHERE job = ticket_jobs.id
    )
    ORDER BY finished_at, id LIMIT ?2";

/// See [`TicketStore::remove_ticket_jobs`](usher_engine::ports::TicketStore::remove_ticket_jobs).
pub(crate) fn remove_ticket_jobs(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const DURING: &str = "remove finished jobs of the ticket wallet";
    let finished: Vec<[u8; 32]> = connection
        .prepare_cached(FINISHED_JOBS)
        .during(DURING)?
        .query_map(params![codec::time(before), codec::limit(limit)], |row| row.get(0))
        .and_then(Iterator::collect)
        .during(DURING)?;
    for id in &finished {
        for sql in ["DELETE FROM ticket_claims WHERE job = ?1", "DELETE FROM ticket_jobs WHERE id = ?1"] {
            connection.prepare_cached(sql).and_then(|mut statement| statement.execute([id])).during(DURING)?;
        }
    }
    Ok(finished.len())
}

/// See [`OpenIdStore::remove_openid_records`](usher_engine::ports::OpenIdStore::remove_openid_records).
pub(super) fn remove_openid_records(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<Vec<String>, SqliteFailure> {
    connection
        .prepare_cached(
            "DELETE FROM openid_records WHERE id IN
                 (SELECT id FROM openid_records WHERE expires_at < ?1 ORDER BY expires_at, id LIMIT ?2)
             RETURNING data",
        )
        .and_then(|mut statement| {
            let removed = statement.query_map(params![codec::time(before), codec::limit(limit)], |row| {
                Ok(row.get(0).unwrap_or_default())
            })?;
            removed.collect()
        })
        .during("remove expired records of the OpenID Connect provider")
}

/// Runs a statement that deletes rows older than `before`, at most `limit` of them.
pub(super) fn forget(
    connection: &Connection,
    sql: &str,
    before: UnixMillis,
    limit: usize,
    during: &'static str,
) -> Result<usize, SqliteFailure> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params![codec::time(before), codec::limit(limit)]))
        .during(during)
}
