//! One commit, inside the writer's transaction: first every condition, then every write.
//!
//! Conditions come first so that a conflict has nothing to undo, and does not disturb the commits beside it.

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, params};
use usher_engine::ports::{
    AllCommitted, Commit, Conflict, CorrelationKey, OperationHead, OutboxChange, OutboxMessage, Revision,
    SignerSessionUpdate, UserRelays, UserSigner,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::{EventId, PublicKey};

use super::deliveries;
use super::failure::{During as _, SqliteFailure};
use super::{audit_log, idempotency_records, passkeys, payment_records};
use crate::codec;

/// Applies all of `commits`, or says what one of them conflicts with and changes nothing.
pub(crate) fn apply(connection: &Connection, commits: &[Commit]) -> Result<AllCommitted, SqliteFailure> {
    let mut rows = Vec::with_capacity(commits.len());
    for (index, commit) in commits.iter().enumerate() {
        let earlier = commits.get(..index).unwrap_or_default();
        match look(connection, commit, earlier)? {
            Ok(row) => rows.push(row),
            Err(conflict) => return Ok(AllCommitted::Conflict(conflict)),
        }
    }
    let mut heads = Vec::with_capacity(commits.len());
    for (commit, before) in commits.iter().zip(rows) {
        heads.push(write(connection, commit, before)?);
    }
    Ok(AllCommitted::Done(heads))
}

/// The stored row of the operation, or the conflict; `earlier` are the commits before it in the same transaction.
fn look(connection: &Connection, commit: &Commit, earlier: &[Commit]) -> Result<Result<Row, Conflict>, SqliteFailure> {
    if let Some(new) = &commit.idempotency_record {
        let key = new.record.key;
        let earlier =
            earlier.iter().filter_map(|other| other.idempotency_record.as_ref()).any(|other| other.record.key == key);
        if earlier || idempotency_records::is_recorded(connection, new)? {
            return Ok(Err(Conflict::AlreadyRequested));
        }
    }
    let Some(before) = Row::expected(connection, commit)? else {
        return Ok(Err(Conflict::Revision));
    };
    if earlier.iter().any(|other| other.operation == commit.operation) {
        return Ok(Err(Conflict::Revision));
    }
    let claimed = earlier.iter().find(|other| other.claims.iter().any(|key| commit.claims.contains(key)));
    if let Some(owner) = other_owner(connection, commit)?.or(claimed.map(|other| other.operation)) {
        return Ok(Err(Conflict::Correlation(owner)));
    }
    for inbound in &commit.inbound {
        if is_recorded(connection, inbound)? || earlier.iter().any(|other| other.inbound.contains(inbound)) {
            return Ok(Err(Conflict::InboundSeen));
        }
    }
    Ok(Ok(before))
}

fn write(connection: &Connection, commit: &Commit, before: Row) -> Result<OperationHead, SqliteFailure> {
    let after = Row {
        revision: before.revision.saturating_add(1),
        next_index: append_events(connection, commit, &before)?,
        outbox: change_outbox(connection, commit, before.outbox)?,
        correlations: change_correlations(connection, commit, before.correlations)?,
    };
    match commit.expected {
        Revision::New => insert_operation(connection, commit, &after)?,
        Revision::At(_) | Revision::Any => update_operation(connection, commit, before.revision, &after)?,
    }
    for inbound in &commit.inbound {
        record_inbound(connection, commit, inbound)?;
    }
    for relays in &commit.user_relays {
        remember_relays(connection, commit, relays)?;
    }
    for signer in &commit.user_signers {
        change_signer(connection, commit, signer)?;
    }
    for change in &commit.passkeys {
        passkeys::change(connection, change, commit.at)?;
    }
    if let Some(record) = &commit.payment_record {
        payment_records::put(connection, commit.operation, record, commit.at)?;
    }
    if let Some(new) = &commit.idempotency_record {
        let changed = idempotency_records::add(connection, new)?;
        SqliteFailure::unless_one("store an idempotency record", changed)?;
    }
    if let Some(new) = &commit.audit {
        audit_log::add(connection, new)?;
    }
    Ok(OperationHead { revision: after.revision, next_index: after.next_index })
}

/// The columns of an operation's row that the store itself counts.
struct Row {
    revision: u64,
    next_index: u64,
    /// Messages in the outbox.
    outbox: usize,
    correlations: Vec<CorrelationKey>,
}

impl Row {
    /// The stored row, if it is at the revision that the commit expects; for a new operation, the values before its
    /// first revision.
    fn expected(connection: &Connection, commit: &Commit) -> Result<Option<Self>, SqliteFailure> {
        let stored = prepare(
            connection,
            "SELECT revision, next_index, outbox, correlations, finished_at IS NULL FROM operations WHERE id = ?1",
        )?
        .query_row([commit.operation.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, Vec<u8>>(3)?, row.get::<_, bool>(4)?))
        })
        .optional()
        .during("look for an operation")?;
        match (commit.expected, stored) {
            (Revision::New, None) => Ok(Some(Self { revision: 0, next_index: 0, outbox: 0, correlations: Vec::new() })),
            (expected, Some((revision, next_index, outbox, keys, true)))
                if expected == Revision::Any || expected == Revision::At(revision) =>
            {
                codec::check_numbers(revision, next_index)?;
                let correlations = codec::read_correlations(&keys)?;
                Ok(Some(Self { revision, next_index, outbox, correlations }))
            }
            (Revision::New, Some(_)) | (Revision::At(_) | Revision::Any, _) => Ok(None),
        }
    }
}

/// Another operation that has one of the keys the commit claims.
fn other_owner(connection: &Connection, commit: &Commit) -> Result<Option<StreamId>, SqliteFailure> {
    for key in &commit.claims {
        let owner = prepare(connection, "SELECT operation FROM correlations WHERE key = ?1")?
            .query_row([key.as_bytes()], |row| row.get(0))
            .optional()
            .during("look for a correlation key")?
            .map(StreamId::from_bytes);
        if owner.is_some_and(|owner| owner != commit.operation) {
            return Ok(owner);
        }
    }
    Ok(None)
}

fn is_recorded(connection: &Connection, inbound: &EventId) -> Result<bool, SqliteFailure> {
    prepare(connection, "SELECT 1 FROM inbound WHERE id = ?1")?
        .exists([inbound.as_bytes()])
        .during("look for an inbound event")
}

/// Returns the index of the stream's next event.
///
/// Events that are there are never overwritten, also when the operation's row says that there are fewer: a damaged number
/// would otherwise make every later commit fail.
fn append_events(connection: &Connection, commit: &Commit, before: &Row) -> Result<u64, SqliteFailure> {
    let mut next_index = before.next_index;
    if !commit.events.is_empty() && commit.expected != Revision::New {
        let last: Option<i64> = prepare(connection, "SELECT max(idx) FROM events WHERE stream = ?1")?
            .query_row([commit.operation.as_bytes()], |row| row.get(0))
            .during("look for a stream's last event")?;
        let after_last = last.and_then(|last| u64::try_from(last).ok()).map_or(0, |last| last.saturating_add(1));
        // The index of an event may be damaged, too.
        if codec::check_numbers(before.revision, after_last).is_ok() {
            next_index = next_index.max(after_last);
        }
    }
    for (nth, event) in commit.events.iter().enumerate() {
        prepare(connection, "INSERT INTO events (stream, idx, type, at, data) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![
                commit.operation.as_bytes(),
                codec::integer(next_index),
                event.event_type.as_str(),
                codec::time(event.at),
                event.data,
            ])
            .during("append an event")?;
        if commit.deliver {
            let queue = commit.delivery_queues.get(nth).copied().unwrap_or(commit.operation);
            deliveries::put(connection, commit.operation, next_index, queue, event.at)?;
        }
        next_index = next_index.saturating_add(1);
    }
    Ok(next_index)
}

/// Returns how many messages the operation has in the outbox now.
fn change_outbox(connection: &Connection, commit: &Commit, before: usize) -> Result<usize, SqliteFailure> {
    let (messages, kept): (&[OutboxMessage], usize) = match &commit.outbox {
        _ if commit.finished => (&[], 0),
        OutboxChange::Replace(messages) => (messages, 0),
        OutboxChange::Add(messages) => (messages, before),
        OutboxChange::Pause(until) => {
            prepare(connection, "UPDATE outbox SET not_before = ?2 WHERE operation = ?1")?
                .execute(params![commit.operation.as_bytes(), codec::time(*until)])
                .during("put off an operation's outbox")?;
            return Ok(before);
        }
        OutboxChange::Keep => return Ok(before),
    };
    if before > kept {
        prepare(connection, "DELETE FROM outbox WHERE operation = ?1")?
            .execute([commit.operation.as_bytes()])
            .during("empty an operation's outbox")?;
    }
    for (slot, message) in messages.iter().enumerate() {
        prepare(
            connection,
            "INSERT INTO outbox (operation, slot, kind, content, main_key, recipients, participants, until, made_at, not_before)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            commit.operation.as_bytes(),
            codec::limit(kept.saturating_add(slot)),
            message.kind,
            message.content,
            message.main_key.as_bytes(),
            codec::write_public_keys(&message.recipients),
            codec::write_public_keys(&message.participants),
            codec::time(message.until),
            codec::time(message.made_at),
            codec::time(message.not_before),
        ])
        .during("put a message into the outbox")?;
        keep_relays(connection, &message.main_key, commit.at)?;
    }
    Ok(kept.saturating_add(messages.len()))
}

/// Says which keys the operation has now.
fn change_correlations(
    connection: &Connection,
    commit: &Commit,
    mut keys: Vec<CorrelationKey>,
) -> Result<Vec<CorrelationKey>, SqliteFailure> {
    if commit.finished {
        for (key, until) in &commit.kept {
            if keys.contains(key) || commit.claims.contains(key) {
                keep_key(connection, commit, *key, *until)?;
            }
        }
        keys.retain(|key| !commit.kept.iter().any(|(kept, _)| kept == key));
        for key in &keys {
            // A missing key is free already: a damaged table must not prevent its operation from finishing.
            prepare(connection, "DELETE FROM correlations WHERE key = ?1 AND operation = ?2")?
                .execute(params![key.as_bytes(), commit.operation.as_bytes()])
                .during("free a correlation key")?;
        }
        return Ok(Vec::new());
    }
    for key in &commit.claims {
        // Claiming a key again is not a change.
        if !keys.contains(key) {
            prepare(connection, "INSERT INTO correlations (key, operation) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET until = NULL")?
                .execute(params![key.as_bytes(), commit.operation.as_bytes()])
                .during("claim a correlation key")?;
            keys.push(*key);
        }
    }
    Ok(keys)
}

/// A finished operation's key that no other operation can claim before `until`.
fn keep_key(
    connection: &Connection,
    commit: &Commit,
    key: CorrelationKey,
    until: UnixMillis,
) -> Result<(), SqliteFailure> {
    prepare(
        connection,
        "INSERT INTO correlations (key, operation, until) VALUES (?1, ?2, ?3)
         ON CONFLICT (key) DO UPDATE SET until = excluded.until WHERE operation = excluded.operation",
    )?
    .execute(params![key.as_bytes(), commit.operation.as_bytes(), codec::time(until)])
    .during("keep a correlation key")
    .and_then(|changed| SqliteFailure::unless_one("keep a correlation key", changed))
}

fn insert_operation(connection: &Connection, commit: &Commit, after: &Row) -> Result<(), SqliteFailure> {
    prepare(
        connection,
        "INSERT INTO operations (id, kind, state, revision, next_index, wake_at, outbox, correlations, finished_at, done,
             watched, at, origin)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        commit.operation.as_bytes(),
        commit.kind.code(),
        commit.state.0,
        codec::integer(after.revision),
        codec::integer(after.next_index),
        commit.wake_at.filter(|_| !commit.finished).map(codec::time),
        codec::limit(after.outbox),
        codec::write_correlations(&after.correlations),
        commit.finished.then(|| codec::time(commit.at)),
        commit.done,
        commit.watched.filter(|_| !commit.finished).map(|hash| *hash.as_bytes()),
        codec::time(commit.at),
        commit.origin.map(|origin| origin.0),
    ])
    .during("insert an operation")
    .map(|_| ())
}

fn update_operation(connection: &Connection, commit: &Commit, revision: u64, after: &Row) -> Result<(), SqliteFailure> {
    let changed = prepare(
        connection,
        "UPDATE operations SET state = ?3, revision = ?4, next_index = ?5, wake_at = ?6, outbox = ?7,
             correlations = ?8, finished_at = ?9, done = ?10, watched = ?11, at = ?12
         WHERE id = ?1 AND revision = ?2 AND finished_at IS NULL",
    )?
    .execute(params![
        commit.operation.as_bytes(),
        codec::integer(revision),
        commit.state.0,
        codec::integer(after.revision),
        codec::integer(after.next_index),
        commit.wake_at.filter(|_| !commit.finished).map(codec::time),
        codec::limit(after.outbox),
        codec::write_correlations(&after.correlations),
        commit.finished.then(|| codec::time(commit.at)),
        commit.done,
        commit.watched.filter(|_| !commit.finished).map(|hash| *hash.as_bytes()),
        codec::time(commit.at),
    ])
    .during("update an operation")?;
    SqliteFailure::unless_one("update an operation", changed)
}

fn record_inbound(connection: &Connection, commit: &Commit, inbound: &EventId) -> Result<(), SqliteFailure> {
    prepare(connection, "INSERT INTO inbound (id, at) VALUES (?1, ?2)")?
        .execute(params![inbound.as_bytes(), codec::time(commit.at)])
        .during("record an inbound event")
        .map(|_| ())
}

fn remember_relays(connection: &Connection, commit: &Commit, relays: &UserRelays) -> Result<(), SqliteFailure> {
    let addresses = codec::write_relays(&relays.relays);
    prepare(
        connection,
        "INSERT INTO user_relays (main_key, relays, at) VALUES (?1, ?2, ?3)
         ON CONFLICT (main_key) DO UPDATE SET
             relays = CASE excluded.relays WHEN '[]' THEN relays ELSE excluded.relays END, at = excluded.at",
    )?
    .execute(params![relays.main_key.as_bytes(), addresses, codec::time(commit.at)])
    .during("remember a user's relays")
    .map(|_| ())
}

fn change_signer(connection: &Connection, commit: &Commit, signer: &UserSigner) -> Result<(), SqliteFailure> {
    let (user, session) = (signer.main_key.as_bytes(), &signer.session.0);
    let changed = match &signer.update {
        SignerSessionUpdate::Store => prepare(
            connection,
            "INSERT INTO user_relays (main_key, relays, at, signer) VALUES (?1, '[]', ?2, ?3)
             ON CONFLICT (main_key) DO UPDATE SET signer = excluded.signer, at = excluded.at",
        )?
        .execute(params![user, codec::time(commit.at), session]),
        SignerSessionUpdate::Replace(last) => {
            prepare(connection, "UPDATE user_relays SET signer = ?3, at = ?4 WHERE main_key = ?1 AND signer = ?2")?
                .execute(params![user, last.0, session, codec::time(commit.at)])
        }
        SignerSessionUpdate::Remove => {
            prepare(connection, "UPDATE user_relays SET signer = NULL WHERE main_key = ?1 AND signer = ?2")?
                .execute(params![user, session])
        }
    };
    changed.during("keep or forget a user's remote signer").map(|_| ())
}

/// See [`Store::forget_user_signer`](usher_engine::ports::Store::forget_user_signer).
pub(crate) fn forget_signer(connection: &Connection, user: &PublicKey) -> Result<bool, SqliteFailure> {
    prepare(connection, "UPDATE user_relays SET signer = NULL WHERE main_key = ?1 AND signer IS NOT NULL")?
        .execute([user.as_bytes()])
        .during("forget a user's remote signer")
        .map(|changed| changed > 0)
}

/// The user's relays are in use; nothing happens when there are none.
pub(crate) fn keep_relays(connection: &Connection, user: &PublicKey, at: UnixMillis) -> Result<(), SqliteFailure> {
    prepare(connection, "UPDATE user_relays SET at = ?2 WHERE main_key = ?1 AND at < ?3")?
        .execute(params![user.as_bytes(), codec::time(at), codec::time(at.minus(codec::RELAYS_NOTED_EVERY))])
        .during("note that a user's relays are in use")
        .map(|_| ())
}

fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<CachedStatement<'c>, SqliteFailure> {
    connection.prepare_cached(sql).during("prepare a statement")
}
