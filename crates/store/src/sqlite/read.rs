//! The queries of the readers.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use usher_engine::event::Event;
use usher_engine::ports::{
    CorrelationKey, OpenOperation, OperationKind, OutboxMessage, SignerSession, State, StoreError, StoredOperation,
};
use usher_engine::{Origin, StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use super::failure::{During as _, SqliteFailure};
use crate::codec;

/// See [`Store::operation`](usher_engine::ports::Store::operation).
pub(crate) fn operation(connection: &Connection, id: StreamId) -> Result<Option<StoredOperation>, SqliteFailure> {
    const DURING: &str = "read an operation";
    let found = connection
        .prepare_cached(
            "SELECT kind, state, revision, next_index, finished_at, done, correlations, origin
             FROM operations WHERE id = ?1",
        )
        .during(DURING)?
        .query_row([id.as_bytes()], |row| {
            // A commit needs the keys: that they are damaged is to be known before it takes others along.
            let keys = row.get::<_, Vec<u8>>(6).during(DURING).and_then(|keys| Ok(codec::read_correlations(&keys)?));
            Ok(keys.and_then(|_| stored(row, DURING)))
        })
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
            "SELECT kind, state, revision, next_index, finished_at, done, id, origin
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
            "SELECT kind, state, revision, next_index, finished_at, done, id, origin
             FROM operations INDEXED BY operations_subscriptions
             WHERE kind = 8 AND finished_at IS NULL AND id > ?1 ORDER BY id",
        )
        .during(DURING)?;
    let mut rows = statement.query([codec::after_stream(after.as_ref())]).during(DURING)?;
    let mut subscriptions = Vec::new();
    while subscriptions.len() < limit
        && let Some(row) = rows.next().during(DURING)?
    {
        let id = row.get(6).map(StreamId::from_bytes).during(DURING);
        match id.and_then(|id| Ok((id, stored(row, DURING)?))) {
            Ok(subscription) => subscriptions.push(subscription),
            Err(SqliteFailure::Unreadable(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(subscriptions)
}

/// The operation in a row that begins with its kind, state, revision, next index, end and whether it is done, and has its origin
/// after one more.
pub(crate) fn stored(row: &Row<'_>, during: &'static str) -> Result<StoredOperation, SqliteFailure> {
    let stored = StoredOperation {
        kind: codec::kind(row.get(0).during(during)?)?,
        state: State(row.get(1).during(during)?),
        revision: row.get(2).during(during)?,
        next_index: row.get(3).during(during)?,
        done: row.get(5).during(during)?,
        finished_at: row.get::<_, Option<u64>>(4).during(during)?.map(UnixMillis),
        origin: row.get::<_, Option<i64>>(7).during(during)?.map(Origin),
    };
    codec::check_numbers(stored.revision, stored.next_index)?;
    Ok(stored)
}

/// See [`Store::events`](usher_engine::ports::Store::events).
pub(crate) fn events(
    connection: &Connection,
    stream: StreamId,
    after: u64,
    limit: usize,
) -> Result<Result<Vec<Event>, StoreError>, SqliteFailure> {
    const DURING: &str = "read events";
    let mut statement = connection
        .prepare_cached("SELECT idx, type, at, data FROM events WHERE stream = ?1 AND idx >= ?2 ORDER BY idx LIMIT ?3")
        .during(DURING)?;
    let mut rows =
        statement.query(params![stream.as_bytes(), codec::integer(after), codec::limit(limit)]).during(DURING)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        match event(row, DURING) {
            Ok(event) => events.push(event),
            Err(SqliteFailure::Unreadable(_)) if events.is_empty() => {
                return Ok(Err(StoreError::DamagedEvent { index: row.get(0).during(DURING)? }));
            }
            Err(SqliteFailure::Unreadable(_)) => break,
            Err(failure) => return Err(failure),
        }
    }
    Ok(Ok(events))
}

/// The index of the first event of a stream that is still there.
pub(crate) fn first_index(connection: &Connection, stream: StreamId) -> Result<Option<u64>, SqliteFailure> {
    connection
        .prepare_cached("SELECT idx FROM events WHERE stream = ?1 ORDER BY idx LIMIT 1")
        .and_then(|mut statement| statement.query_row([stream.as_bytes()], |row| row.get(0)).optional())
        .during("read the first index of a stream")
}

/// The event in a row that begins with its index, type, time and data.
pub(crate) fn event(row: &Row<'_>, during: &'static str) -> Result<Event, SqliteFailure> {
    let event_type = row.get_ref(1).during(during)?.as_str().map_err(|_| SqliteFailure::Unreadable("an event type"))?;
    let (index, at, data) = (row.get(0).during(during)?, row.get(2).during(during)?, row.get(3).during(during)?);
    Ok(codec::event(index, event_type, UnixMillis(at), data)?)
}

/// See [`Store::outbox`](usher_engine::ports::Store::outbox).
pub(crate) fn outbox(connection: &Connection, operation: StreamId) -> Result<Vec<OutboxMessage>, SqliteFailure> {
    const DURING: &str = "read the outbox";
    let mut statement = connection
        .prepare_cached(
            "SELECT kind, content, main_key, recipients, participants, until, made_at, not_before FROM outbox
             WHERE operation = ?1 ORDER BY slot",
        )
        .during(DURING)?;
    let mut rows = statement.query([operation.as_bytes()]).during(DURING)?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        messages.push(outbox_message(row, DURING)?);
    }
    Ok(messages)
}

/// The message in a row that begins with its kind, content, user, recipients, participants and end.
pub(crate) fn outbox_message(row: &Row<'_>, during: &'static str) -> Result<OutboxMessage, SqliteFailure> {
    Ok(OutboxMessage {
        kind: row.get(0).during(during)?,
        content: row.get(1).during(during)?,
        main_key: PublicKey::from_byte_array(row.get(2).during(during)?),
        recipients: codec::read_public_keys(&row.get::<_, Vec<u8>>(3).during(during)?)?,
        participants: codec::read_public_keys(&row.get::<_, Vec<u8>>(4).during(during)?)?,
        until: UnixMillis(row.get(5).during(during)?),
        made_at: UnixMillis(row.get(6).during(during)?),
        not_before: UnixMillis(row.get(7).during(during)?),
    })
}

/// The statement of [`open_operations`]: names its index, so that SQLite fails if the index cannot be used.
const OPEN_OPERATIONS: &str = "SELECT id, kind, next_index, wake_at, outbox, correlations, done, watched, at
    FROM operations INDEXED BY operations_open WHERE finished_at IS NULL AND id > ?1 AND length(id) = 16
    ORDER BY id LIMIT ?2";

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
        // Rows with other ids are not selected: a short page would look like the last one.
        operations.push(open_operation(StreamId::from_bytes(row.get(0).during(DURING)?), row));
    }
    Ok(operations)
}

/// What can be read of an open operation.
fn open_operation(id: StreamId, row: &Row<'_>) -> OpenOperation {
    let mut damaged = false;
    let keys: Vec<u8> = or_default(row.get(5), &mut damaged);
    damaged |= codec::read_correlations(&keys).is_err();
    let (whole_keys, _) = keys.as_chunks::<16>();
    let kind = row.get(1).ok().and_then(OperationKind::from_code);
    let next_index = or_default(row.get(2), &mut damaged);
    damaged |= !codec::is_plausible_count(next_index);
    let at: u64 = or_default(row.get(8), &mut damaged);
    let wake_at: Option<u64> = or_default(row.get(3), &mut damaged);
    damaged |= at > codec::LATEST_TIME || wake_at.is_some_and(|at| at > codec::LATEST_TIME);
    OpenOperation {
        id,
        kind: kind.unwrap_or(OperationKind::Subscriptions),
        next_index,
        at: UnixMillis(at),
        wake_at: wake_at.map(UnixMillis),
        has_outbox: or_default(row.get::<_, u64>(4), &mut damaged) > 0,
        done: or_default(row.get(6), &mut damaged),
        watched: or_default(row.get::<_, Option<[u8; 32]>>(7), &mut damaged).map(PaymentHash::from_bytes),
        correlations: whole_keys.iter().map(|key| CorrelationKey::from_bytes(*key)).collect(),
        damaged: damaged || kind.is_none(),
    }
}

fn or_default<T: Default>(column: rusqlite::Result<T>, damaged: &mut bool) -> T {
    column.unwrap_or_else(|_| {
        *damaged = true;
        T::default()
    })
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
    Ok(stored.map_or_else(|| Ok(Vec::new()), |json| codec::relays(&json))?)
}

/// See [`Store::user_signer`](usher_engine::ports::Store::user_signer).
pub(crate) fn user_signer(
    connection: &Connection,
    main_key: &PublicKey,
) -> Result<Option<SignerSession>, SqliteFailure> {
    const DURING: &str = "read a user's remote signer";
    let stored = connection
        .prepare_cached("SELECT signer FROM user_relays WHERE main_key = ?1")
        .during(DURING)?
        .query_row([main_key.as_bytes()], |row| row.get::<_, Option<String>>(0))
        .optional()
        .during(DURING)?;
    Ok(stored.flatten().map(SignerSession))
}
