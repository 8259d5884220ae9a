//! Rows of operations and their events, read.

use tokio_postgres::Row;
use usher_engine::event::Event;
use usher_engine::ports::{
    CorrelationKey, OpenOperation, OperationKind, OutboxMessage, State, StoreError, StoredOperation,
};
use usher_engine::{Origin, StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use super::columns;
use super::failure::PostgresFailure;
use crate::codec;

/// Of one operation.
pub(super) const OPERATION: &str =
    "SELECT kind, state, revision, next_index, finished_at, done, correlations, origin FROM operations WHERE id = $1";

/// Of the open operation that has a key.
pub(super) const WITH_KEY: &str = "SELECT kind, state, revision, next_index, finished_at, done, id, origin
    FROM correlations JOIN operations ON operations.id = correlations.operation
    WHERE correlations.key = $1 AND finished_at IS NULL";

/// A part of the subscriptions after an id.
pub(super) const SUBSCRIPTIONS: &str = "SELECT kind, state, revision, next_index, finished_at, done, id, origin
    FROM operations WHERE kind = 8 AND finished_at IS NULL AND id > $1 ORDER BY id LIMIT $2 OFFSET $3";

pub(super) const EVENTS: &str =
    "SELECT idx, type, at, data FROM events WHERE stream = $1 AND idx >= $2 ORDER BY idx LIMIT $3";

pub(super) const OUTBOX: &str =
    "SELECT kind, content, main_key, recipients, participants, until, made_at, not_before FROM outbox
    WHERE operation = $1 ORDER BY slot";

/// Rows with other ids are not selected: a short page would look like the last one.
pub(super) const OPEN_OPERATIONS: &str = "SELECT id, kind, next_index, wake_at, outbox, correlations, done, watched, at
    FROM operations WHERE finished_at IS NULL AND id > $1 AND octet_length(id) = 16 ORDER BY id LIMIT $2";

/// The operation in a row of [`OPERATION`].
pub(super) fn operation(row: &Row) -> Result<StoredOperation, PostgresFailure> {
    // A commit needs the keys: that they are damaged is to be known before it takes others along.
    codec::read_correlations(columns::get(row, 6)?)?;
    stored(row)
}

/// The operation in a row of [`WITH_KEY`] or [`SUBSCRIPTIONS`], with its id.
pub(super) fn with_id(row: &Row) -> Result<(StreamId, StoredOperation), PostgresFailure> {
    Ok((StreamId::from_bytes(columns::bytes(row, 6)?), stored(row)?))
}

fn stored(row: &Row) -> Result<StoredOperation, PostgresFailure> {
    let stored = StoredOperation {
        kind: codec::kind(columns::int(row, 0)?)?,
        state: State(columns::text(row, 1)?),
        revision: columns::int(row, 2)?,
        next_index: columns::int(row, 3)?,
        done: columns::get(row, 5)?,
        finished_at: columns::optional_time(row, 4)?,
        origin: columns::get::<Option<i64>>(row, 7)?.map(Origin),
    };
    codec::check_numbers(stored.revision, stored.next_index)?;
    Ok(stored)
}

/// The events in rows of [`EVENTS`], up to the first one that cannot be read.
pub(super) fn events(rows: &[Row]) -> Result<Vec<Event>, StoreError> {
    let mut events = Vec::with_capacity(rows.len());
    for row in rows {
        match event(row) {
            Ok(event) => events.push(event),
            Err(PostgresFailure::Unreadable(_)) if events.is_empty() => {
                return Err(StoreError::DamagedEvent { index: columns::int(row, 0)? });
            }
            Err(PostgresFailure::Unreadable(_)) => break,
            Err(failure) => return Err(failure.into()),
        }
    }
    Ok(events)
}

/// The event in a row that begins with its index, type, time and data.
pub(super) fn event(row: &Row) -> Result<Event, PostgresFailure> {
    // A left join has nothing where an event is missing.
    let event_type: Option<&str> = columns::get(row, 1)?;
    let event_type = event_type.ok_or(PostgresFailure::Unreadable("an event type"))?;
    let data = columns::text(row, 3)?;
    Ok(codec::event(columns::int(row, 0)?, event_type, columns::time(row, 2)?, data.into())?)
}

/// The message in a row of [`OUTBOX`].
pub(super) fn outbox_message(row: &Row) -> Result<OutboxMessage, PostgresFailure> {
    Ok(OutboxMessage {
        kind: columns::int(row, 0)?,
        content: columns::text(row, 1)?,
        main_key: PublicKey::from_byte_array(columns::bytes(row, 2)?),
        recipients: codec::read_public_keys(columns::get(row, 3)?)?,
        participants: codec::read_public_keys(columns::get(row, 4)?)?,
        until: columns::time(row, 5)?,
        made_at: columns::time(row, 6)?,
        not_before: columns::time(row, 7)?,
    })
}

/// What can be read of an open operation in a row of [`OPEN_OPERATIONS`].
pub(super) fn open_operation(row: &Row) -> Result<OpenOperation, PostgresFailure> {
    let mut damaged = false;
    let id = StreamId::from_bytes(columns::bytes(row, 0)?);
    let keys: Vec<u8> = or_default(columns::get(row, 5), &mut damaged);
    damaged |= codec::read_correlations(&keys).is_err();
    let (whole_keys, _) = keys.as_chunks::<16>();
    let kind = columns::int(row, 1).ok().and_then(OperationKind::from_code);
    let next_index = or_default(columns::int(row, 2), &mut damaged);
    damaged |= !codec::is_plausible_count(next_index);
    let at: u64 = or_default(columns::int(row, 8), &mut damaged);
    let wake_at: Option<u64> = or_default(columns::optional_int(row, 3), &mut damaged);
    damaged |= at > codec::LATEST_TIME || wake_at.is_some_and(|at| at > codec::LATEST_TIME);
    Ok(OpenOperation {
        id,
        kind: kind.unwrap_or(OperationKind::Subscriptions),
        next_index,
        at: UnixMillis(at),
        wake_at: wake_at.map(UnixMillis),
        has_outbox: or_default(columns::int::<u64>(row, 4), &mut damaged) > 0,
        done: or_default(columns::get(row, 6), &mut damaged),
        watched: or_default(columns::optional_bytes(row, 7), &mut damaged).map(PaymentHash::from_bytes),
        correlations: whole_keys.iter().map(|key| CorrelationKey::from_bytes(*key)).collect(),
        damaged: damaged || kind.is_none(),
    })
}

fn or_default<T: Default>(column: Result<T, PostgresFailure>, damaged: &mut bool) -> T {
    column.unwrap_or_else(|_| {
        *damaged = true;
        T::default()
    })
}
