//! Operations, their events and messages, and users' data: read statements and row formats.

use usher_engine::event::Event;
use usher_engine::ports::{
    CorrelationKey, OpenOperation, OperationKind, OutboxMessage, State, StoreError, StoredOperation,
};
use usher_engine::{Origin, StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use crate::codec::{self, Unreadable};
use crate::row::{Answer, Row};
use crate::statement::Statement;

pub(crate) const OPERATION: Statement = Statement::new(
    "read an operation",
    "SELECT kind, state, revision, next_index, finished_at, done, correlations, origin FROM operations WHERE id = ?1",
);

pub(crate) const WITH_KEY: Statement = Statement::new(
    "read the operation that has a correlation key",
    "SELECT kind, state, revision, next_index, finished_at, done, id, origin
     FROM correlations JOIN operations ON operations.id = correlations.operation
     WHERE correlations.key = ?1 AND finished_at IS NULL",
);

/// A page of the subscriptions, after an id.
macro_rules! subscriptions {
    ($after:literal) => {
        Statement::new(
            "read subscriptions",
            concat!(
                "SELECT kind, state, revision, next_index, finished_at, done, id, origin
                 FROM operations INDEXED BY operations_subscriptions
                 WHERE kind = 8 AND finished_at IS NULL AND ",
                $after,
                " LIMIT ?2 OFFSET ?3"
            ),
        )
    };
}

pub(crate) const SUBSCRIPTIONS: Statement = subscriptions!("id > ?1 ORDER BY id");
pub(crate) const NEWEST_SUBSCRIPTIONS: Statement = subscriptions!("id < ?1 ORDER BY id DESC");

pub(crate) const EVENTS: Statement = Statement::new(
    "read events",
    "SELECT idx, type, at, data FROM events WHERE stream = ?1 AND idx >= ?2 ORDER BY idx LIMIT ?3",
);

pub(crate) const OUTBOX: Statement = Statement::new(
    "read the outbox",
    "SELECT kind, content, main_key, recipients, participants, until, made_at, not_before FROM outbox
     WHERE operation = ?1 ORDER BY slot",
);

/// Rows with invalid ids are not selected: a short page would look like the last one.
pub(crate) const OPEN_OPERATIONS: Statement = Statement::new(
    "read the open operations",
    "SELECT id, kind, next_index, wake_at, outbox, correlations, done, watched, at
     FROM operations INDEXED BY operations_open
     WHERE finished_at IS NULL AND id > ?1 AND length(id) = 16 ORDER BY id LIMIT ?2",
);

pub(crate) const OPEN_OF_KIND: Statement =
    Statement::new("read the open operations", "SELECT state FROM operations WHERE finished_at IS NULL AND kind = ?1");

pub(crate) const RELAYS: Statement =
    Statement::new("read a user's relays", "SELECT relays FROM user_relays WHERE main_key = ?1");

pub(crate) const SIGNER: Statement =
    Statement::new("read a user's remote signer", "SELECT signer FROM user_relays WHERE main_key = ?1");

pub(crate) const FORGET_SIGNER: Statement = Statement::new(
    "forget a user's remote signer",
    "UPDATE user_relays SET signer = NULL WHERE main_key = ?1 AND signer IS NOT NULL",
);

pub(crate) fn operation(row: &Row) -> Result<StoredOperation, Unreadable> {
    // A commit needs the keys: damaged ones must be found before they affect others.
    codec::read_correlations(row.blob(6)?)?;
    stored(row)
}

/// The operation in a row of [`WITH_KEY`] or [`SUBSCRIPTIONS`], with its id.
pub(crate) fn with_id(row: &Row) -> Result<(StreamId, StoredOperation), Unreadable> {
    Ok((StreamId::from_bytes(row.bytes(6)?), stored(row)?))
}

fn stored(row: &Row) -> Result<StoredOperation, Unreadable> {
    let stored = StoredOperation {
        kind: codec::kind(row.int(0)?)?,
        state: State(row.string(1)?),
        revision: row.int(2)?,
        next_index: row.int(3)?,
        done: row.is_true(5)?,
        finished_at: row.optional_time(4)?,
        origin: row.optional_int(7)?.map(Origin),
    };
    codec::check_numbers(stored.revision, stored.next_index)?;
    Ok(stored)
}

/// The events up to the first unreadable one.
pub(crate) fn events(found: &Answer) -> Result<Vec<Event>, StoreError> {
    let mut events = Vec::with_capacity(found.rows.len());
    for row in &found.rows {
        match event(row) {
            Ok(event) => events.push(event),
            Err(_) if events.is_empty() => return Err(StoreError::DamagedEvent { index: row.int(0)? }),
            Err(_) => break,
        }
    }
    Ok(events)
}

/// The event in a row of its index, type, time and data.
pub(crate) fn event(row: &Row) -> Result<Event, Unreadable> {
    // The left join returns NULL for a missing event.
    let event_type = row.optional_text(1)?.ok_or(Unreadable("an event type"))?;
    codec::event(row.int(0)?, event_type, row.time(2)?, row.text(3)?.into())
}

pub(crate) fn outbox_message(row: &Row) -> Result<OutboxMessage, Unreadable> {
    Ok(OutboxMessage {
        kind: row.int(0)?,
        content: row.string(1)?,
        main_key: PublicKey::from_byte_array(row.bytes(2)?),
        recipients: codec::read_public_keys(row.blob(3)?)?,
        participants: codec::read_public_keys(row.blob(4)?)?,
        until: row.time(5)?,
        made_at: row.time(6)?,
        not_before: row.time(7)?,
    })
}

/// The readable columns of an open operation.
pub(crate) fn open_operation(row: &Row) -> Result<OpenOperation, Unreadable> {
    let mut damaged = false;
    let id = StreamId::from_bytes(row.bytes(0)?);
    let keys = or_default(row.blob(5), &mut damaged);
    let (whole_keys, rest) = keys.as_chunks::<16>();
    damaged |= !rest.is_empty();
    let kind = row.int(1).ok().and_then(OperationKind::from_code);
    let next_index = or_default(row.int(2), &mut damaged);
    damaged |= !codec::is_plausible_count(next_index);
    let at: u64 = or_default(row.int(8), &mut damaged);
    let wake_at: Option<u64> = or_default(row.optional_int(3), &mut damaged);
    damaged |= at > codec::LATEST_TIME || wake_at.is_some_and(|at| at > codec::LATEST_TIME);
    Ok(OpenOperation {
        id,
        kind: kind.unwrap_or(OperationKind::Subscriptions),
        next_index,
        at: UnixMillis(at),
        wake_at: wake_at.map(UnixMillis),
        has_outbox: or_default(row.int::<u64>(4), &mut damaged) > 0,
        done: or_default(row.is_true(6), &mut damaged),
        watched: or_default(row.optional_bytes(7), &mut damaged).map(PaymentHash::from_bytes),
        correlations: whole_keys.iter().map(|key| CorrelationKey::from_bytes(*key)).collect(),
        damaged: damaged || kind.is_none(),
    })
}

fn or_default<T: Default>(column: Result<T, Unreadable>, damaged: &mut bool) -> T {
    column.unwrap_or_else(|_| {
        *damaged = true;
        T::default()
    })
}
