//! What the readers ask.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::event::{Event, EventType};
use usher_engine::ports::{CorrelationKey, OpenOperation, OperationKind, OutboxMessage, State, StoredOperation};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use super::codec;
use super::failure::{During as _, SqliteFailure};

/// See [`Store::operation`](usher_engine::ports::Store::operation).
pub(crate) fn operation(connection: &Connection, id: StreamId) -> Result<Option<StoredOperation>, SqliteFailure> {
    const DURING: &str = "read an operation";
    let found = connection
        .prepare_cached("SELECT kind, state, revision, next_index, finished_at, done FROM operations WHERE id = ?1")
        .during(DURING)?
        .query_row([id.as_bytes()], |row| Ok(stored(row, DURING)))
        .optional()
        .during(DURING)?;
    found.transpose()
}

/// See [`Store::operation_with_key`](usher_engine::ports::Store::operation_with_key).
pub(crate) fn operation_with_key(
    connection: &Connection,
    key: CorrelationKey,
) -> Result<Option<(StreamId, StoredOperation)>, SqliteFailure> {
    const DURING: &str = "read the operation that has a correlation key";
    let found = connection
        .prepare_cached(
            "SELECT kind, state, revision, next_index, finished_at, done, id
             FROM correlations JOIN operations ON operations.id = correlations.operation
             WHERE correlations.key = ?1 AND finished_at IS NULL",
        )
        .during(DURING)?
        .query_row([key.as_bytes()], |row| Ok((StreamId::from_bytes(row.get(6)?), stored(row, DURING))))
        .optional()
        .during(DURING)?;
    found.map(|(id, stored)| stored.map(|stored| (id, stored))).transpose()
}

/// See [`Store::subscriptions`](usher_engine::ports::Store::subscriptions).
pub(crate) fn subscriptions(
    connection: &Connection,
    after: Option<StreamId>,
    limit: usize,
) -> Result<Vec<(StreamId, StoredOperation)>, SqliteFailure> {
    const DURING: &str = "read subscriptions";
    let mut statement = connection
        .prepare_cached(
            "SELECT kind, state, revision, next_index, finished_at, done, id
             FROM operations INDEXED BY operations_subscriptions
             WHERE kind = 8 AND finished_at IS NULL AND id > ?1 ORDER BY id LIMIT ?2",
        )
        .during(DURING)?;
    let mut rows = statement.query(params![codec::after_stream(after.as_ref()), codec::limit(limit)]).during(DURING)?;
    let mut subscriptions = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        let id = StreamId::from_bytes(row.get(6).during(DURING)?);
        subscriptions.push((id, stored(row, DURING)?));
    }
    Ok(subscriptions)
}

/// The operation in a row that begins with its kind, state, revision, next index, end and whether it is done.
fn stored(row: &Row<'_>, during: &'static str) -> Result<StoredOperation, SqliteFailure> {
    Ok(StoredOperation {
        kind: kind_of(row.get(0).during(during)?)?,
        state: State(row.get(1).during(during)?),
        revision: row.get(2).during(during)?,
        next_index: row.get(3).during(during)?,
        done: row.get(5).during(during)?,
        finished_at: row.get::<_, Option<u64>>(4).during(during)?.map(UnixMillis),
    })
}

/// See [`Store::events`](usher_engine::ports::Store::events).
pub(crate) fn events(
    connection: &Connection,
    stream: StreamId,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>, SqliteFailure> {
    const DURING: &str = "read events";
    let mut statement = connection
        .prepare_cached("SELECT idx, type, at, data FROM events WHERE stream = ?1 AND idx >= ?2 ORDER BY idx LIMIT ?3")
        .during(DURING)?;
    let mut rows =
        statement.query(params![stream.as_bytes(), codec::integer(after), codec::limit(limit)]).during(DURING)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        events.push(event(row, DURING)?);
    }
    Ok(events)
}

/// The event in a row that begins with its index, type, time and data.
pub(crate) fn event(row: &Row<'_>, during: &'static str) -> Result<Event, SqliteFailure> {
    let event_type = row.get_ref(1).during(during)?.as_str().map_err(|_| SqliteFailure::Unreadable("an event type"))?;
    Ok(Event {
        index: row.get(0).during(during)?,
        event_type: EventType::from_wire(event_type).ok_or(SqliteFailure::Unreadable("an event type"))?,
        timestamp: row.get(2).map(|at| UnixMillis(at).secs()).during(during)?,
        data: row.get(3).during(during)?,
    })
}

/// See [`Store::outbox`](usher_engine::ports::Store::outbox).
pub(crate) fn outbox(connection: &Connection, operation: StreamId) -> Result<Vec<OutboxMessage>, SqliteFailure> {
    const DURING: &str = "read the outbox";
    let mut statement = connection
        .prepare_cached(
            "SELECT kind, content, main_key, recipients, participants, until FROM outbox
             WHERE operation = ?1 ORDER BY slot",
        )
        .during(DURING)?;
    let mut rows = statement.query([operation.as_bytes()]).during(DURING)?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        messages.push(OutboxMessage {
            kind: row.get(0).during(DURING)?,
            content: row.get(1).during(DURING)?,
            main_key: PublicKey::from_byte_array(row.get(2).during(DURING)?),
            recipients: codec::read_public_keys(&row.get::<_, Vec<u8>>(3).during(DURING)?)?,
            participants: codec::read_public_keys(&row.get::<_, Vec<u8>>(4).during(DURING)?)?,
            until: UnixMillis(row.get(5).during(DURING)?),
        });
    }
    Ok(messages)
}

/// The statement of [`open_operations`]: names its index, so that SQLite says so should it ever not do.
const OPEN_OPERATIONS: &str = "SELECT id, kind, next_index, wake_at, outbox, correlations, done, watched, at
    FROM operations INDEXED BY operations_open WHERE finished_at IS NULL AND id > ?1 ORDER BY id LIMIT ?2";

/// See [`Store::open_operations`](usher_engine::ports::Store::open_operations).
pub(crate) fn open_operations(
    connection: &Connection,
    after: Option<StreamId>,
    limit: usize,
) -> Result<Vec<OpenOperation>, SqliteFailure> {
    const DURING: &str = "read the open operations";
    let mut statement = connection.prepare_cached(OPEN_OPERATIONS).during(DURING)?;
    let mut rows = statement.query(params![codec::after_stream(after.as_ref()), codec::limit(limit)]).during(DURING)?;
    let mut operations = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        let correlations = row.get_ref(5).during(DURING)?.as_blob();
        operations.push(OpenOperation {
            id: StreamId::from_bytes(row.get(0).during(DURING)?),
            kind: kind_of(row.get(1).during(DURING)?)?,
            next_index: row.get(2).during(DURING)?,
            at: UnixMillis(row.get(8).during(DURING)?),
            wake_at: row.get::<_, Option<u64>>(3).during(DURING)?.map(UnixMillis),
            has_outbox: row.get::<_, u64>(4).during(DURING)? > 0,
            done: row.get(6).during(DURING)?,
            watched: row.get::<_, Option<[u8; 32]>>(7).during(DURING)?.map(PaymentHash::from_bytes),
            correlations: codec::read_correlations(
                correlations.map_err(|_| SqliteFailure::Unreadable("correlation keys of an operation"))?,
            )?,
        });
    }
    Ok(operations)
}

/// See [`Store::user_relays`](usher_engine::ports::Store::user_relays).
pub(crate) fn user_relays(connection: &Connection, main_key: &PublicKey) -> Result<Vec<String>, SqliteFailure> {
    const DURING: &str = "read a user's relays";
    let stored = connection
        .prepare_cached("SELECT relays FROM user_relays WHERE main_key = ?1")
        .during(DURING)?
        .query_row([main_key.as_bytes()], |row| row.get::<_, String>(0))
        .optional()
        .during(DURING)?;
    match stored {
        None => Ok(Vec::new()),
        Some(json) => serde_json::from_str(&json).map_err(|_| SqliteFailure::Unreadable("a user's relays")),
    }
}

fn kind_of(code: u8) -> Result<OperationKind, SqliteFailure> {
    OperationKind::from_code(code).ok_or(SqliteFailure::Unreadable("an operation's kind"))
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    #[test]
    fn rebuilding_the_index_reads_the_index_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, schema::MIGRATIONS).unwrap();
        let plan: Vec<String> = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {OPEN_OPERATIONS}"))
            .unwrap()
            .query_map(params![[0_u8; 16], 10], |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(plan, ["SEARCH operations USING COVERING INDEX operations_open (id>?)"]);
    }
}
