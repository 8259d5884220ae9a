//! Removing what is past its time.

use rusqlite::{Connection, params};
use usher_engine::UnixMillis;

use super::codec;
use super::failure::{During as _, SqliteFailure};

/// See [`Store::remove_finished`](usher_engine::ports::Store::remove_finished).
///
/// A finished operation has neither correlation keys nor outgoing messages: its events and its row are all there is.
pub(crate) fn remove_finished(
    connection: &Connection,
    finished_before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    const DURING: &str = "remove finished operations";
    let finished: Vec<[u8; 16]> = connection
        .prepare_cached(
            "SELECT id FROM operations WHERE finished_at IS NOT NULL AND finished_at < ?1
             ORDER BY finished_at, id LIMIT ?2",
        )
        .during(DURING)?
        .query_map(params![codec::time(finished_before), codec::limit(limit)], |row| row.get(0))
        .and_then(Iterator::collect)
        .during(DURING)?;
    for id in &finished {
        connection
            .prepare_cached("DELETE FROM events WHERE stream = ?1")
            .and_then(|mut statement| statement.execute([id]))
            .during(DURING)?;
        let changed = connection
            .prepare_cached("DELETE FROM operations WHERE id = ?1 AND finished_at IS NOT NULL")
            .and_then(|mut statement| statement.execute([id]))
            .during(DURING)?;
        SqliteFailure::unless_one(DURING, changed)?;
    }
    Ok(finished.len())
}

/// See [`Store::forget_inbound`](usher_engine::ports::Store::forget_inbound).
pub(crate) fn forget_inbound(
    connection: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, SqliteFailure> {
    connection
        .prepare_cached(
            "DELETE FROM inbound WHERE id IN (SELECT id FROM inbound WHERE at < ?1 ORDER BY at, id LIMIT ?2)",
        )
        .and_then(|mut statement| statement.execute(params![codec::time(before), codec::limit(limit)]))
        .during("forget inbound events")
}
