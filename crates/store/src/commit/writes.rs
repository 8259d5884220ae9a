//! The changes of a group of commits as statements: one per table and kind of change, regardless of the number of
//! commits.

use std::collections::BTreeMap;

use usher_engine::event::NewEvent;
use usher_engine::ports::{Commit, CorrelationKey, IdempotencyKey, IdempotencyRecord, OutboxMessage, PasskeyChange};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::{EventId, PublicKey};

use super::rows::{Operation, Rows};
use crate::codec;
use crate::records::hourly_sums::AddedSums;
use crate::records::login_records::{self, NewLogin};
use crate::records::payment_records::{self, Entries};
use crate::records::{deliveries, idempotency_records, passkeys};
use crate::statement::{Param, Query, Statement, params};

const EMPTY_OUTBOX: Statement = Statement::new("empty outboxes", "DELETE FROM outbox WHERE operation = ?1");

const PAUSE_OUTBOX: Statement = Statement::new(
    "put off outboxes",
    "WITH n (operation, until) AS (VALUES (?1, ?2))
     UPDATE outbox SET not_before = n.until FROM n WHERE outbox.operation = n.operation",
);

const ADD_TO_OUTBOX: Statement = Statement::new(
    "put messages into the outbox",
    "INSERT INTO outbox (operation, slot, kind, content, main_key, recipients, participants, until, made_at, not_before)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
);

/// A missing key is already free: a damaged table must not prevent its operation from finishing.
const FREE_KEY: Statement =
    Statement::new("free correlation keys", "DELETE FROM correlations WHERE key = ?1 AND operation = ?2")
        .postgres("DELETE FROM correlations WHERE (key, operation) IN (VALUES (?1, ?2))");

const OWN_KEY: Statement = Statement::new(
    "claim correlation keys",
    "INSERT INTO correlations (key, operation, until) VALUES (?1, ?2, ?3)
     ON CONFLICT (key) DO UPDATE SET operation = excluded.operation, until = excluded.until",
);

const INSERT_OPERATION: Statement = Statement::new(
    "insert operations",
    "INSERT INTO operations (id, kind, state, revision, next_index, wake_at, outbox, correlations, finished_at, done,
         watched, at, origin)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
);

const UPDATE_OPERATION: Statement = Statement::new(
    "update operations",
    "UPDATE operations SET state = ?3, revision = ?4, next_index = ?5, wake_at = ?6, outbox = ?7, correlations = ?8,
         finished_at = ?9, done = ?10, watched = ?11, at = ?12
     WHERE id = ?1 AND revision = ?2 AND finished_at IS NULL",
)
.postgres(
    "WITH n (id, stored, state, revision, next_index, wake_at, outbox, correlations, finished_at, done, watched, at) AS (
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12))
     UPDATE operations SET state = n.state, revision = n.revision, next_index = n.next_index, wake_at = n.wake_at,
         outbox = n.outbox, correlations = n.correlations, finished_at = n.finished_at, done = n.done,
         watched = n.watched, at = n.at
     FROM n WHERE operations.id = n.id AND operations.revision = n.stored AND operations.finished_at IS NULL",
)
.exact();

const APPEND_EVENT: Statement =
    Statement::new("append events", "INSERT INTO events (stream, idx, type, at, data) VALUES (?1, ?2, ?3, ?4, ?5)");

const RECORD_INBOUND: Statement =
    Statement::new("record inbound events", "INSERT INTO inbound (id, at) VALUES (?1, ?2)");

const REMEMBER_USER: Statement = Statement::new(
    "remember users",
    "INSERT INTO user_relays (main_key, relays, at, signer) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (main_key) DO UPDATE SET relays = excluded.relays, at = excluded.at, signer = excluded.signer",
);

#[derive(Default)]
pub(super) struct Writes {
    operations: BTreeMap<StreamId, Box<Change>>,
    /// With their streams and indexes.
    pub(super) events: Vec<(StreamId, u64, NewEvent)>,
    /// Stream, index, queue, and due time.
    pub(super) deliveries: Vec<(StreamId, u64, StreamId, UnixMillis)>,
    pub(super) outbox: BTreeMap<StreamId, Outbox>,
    /// With the operations that held them.
    freed_keys: Vec<([u8; 16], StreamId)>,
    /// With the operations that hold them, and until when.
    owned_keys: BTreeMap<[u8; 16], (StreamId, Option<UnixMillis>)>,
    pub(super) inbound: Vec<(EventId, i64)>,
    /// Their data are in the rows.
    pub(super) users: BTreeMap<[u8; 32], PublicKey>,
    /// With their times.
    pub(super) passkeys: Vec<(PasskeyChange, UnixMillis)>,
    pub(super) payment_records: Entries,
    pub(super) sums: AddedSums,
    pub(super) login_records: Vec<NewLogin>,
    pub(super) records: BTreeMap<IdempotencyKey, IdempotencyRecord>,
}

/// An operation after the last commit of the group.
struct Change {
    /// The stored revision; 0 for none.
    stored: u64,
    kind: u8,
    state: String,
    revision: u64,
    next_index: u64,
    wake_at: Option<i64>,
    outbox: usize,
    correlations: Vec<u8>,
    finished_at: Option<i64>,
    done: bool,
    watched: Option<[u8; 32]>,
    at: i64,
    origin: Option<i64>,
}

/// Changes of an operation's messages.
#[derive(Default)]
pub(super) struct Outbox {
    /// Whether the stored messages are removed.
    is_cleared: bool,
    /// The stored messages are not sent before this time.
    paused: Option<UnixMillis>,
    /// With their slots.
    pub(super) added: Vec<(usize, OutboxMessage)>,
}

impl Outbox {
    pub(super) fn clear(&mut self) {
        *self = Self { is_cleared: true, ..Self::default() };
    }

    pub(super) fn pause(&mut self, until: UnixMillis) {
        self.paused = Some(until);
        for (_, message) in &mut self.added {
            message.not_before = until;
        }
    }
}

impl Writes {
    /// Sets the operation's row after the commit.
    pub(super) fn set_operation(&mut self, commit: &Commit, stored: u64, after: &Operation) {
        let first = self.operations.get(&commit.operation);
        let change = Change {
            stored: first.map_or(stored, |first| first.stored),
            kind: first.map_or(commit.kind.code(), |first| first.kind),
            state: commit.state.0.clone(),
            revision: after.revision,
            next_index: after.next_index,
            wake_at: commit.wake_at.filter(|_| !commit.finished).map(codec::time),
            outbox: after.outbox,
            correlations: codec::write_correlations(&after.correlations),
            finished_at: commit.finished.then(|| codec::time(commit.at)),
            done: commit.done,
            watched: commit.watched.filter(|_| !commit.finished).map(|hash| *hash.as_bytes()),
            at: codec::time(commit.at),
            origin: first.map_or(commit.origin.map(|origin| origin.0), |first| first.origin),
        };
        self.operations.insert(commit.operation, Box::new(change));
    }

    pub(super) fn own_key(&mut self, key: CorrelationKey, owner: StreamId, until: Option<UnixMillis>) {
        self.owned_keys.insert(*key.as_bytes(), (owner, until));
    }

    pub(super) fn free_key(&mut self, key: CorrelationKey, owner: StreamId) {
        let key = *key.as_bytes();
        if self.owned_keys.get(&key).is_some_and(|(of, _)| *of == owner) {
            self.owned_keys.remove(&key);
        }
        self.freed_keys.push((key, owner));
    }

    /// The statements in their required order.
    pub(super) fn queries(self, rows: &Rows) -> Vec<Query> {
        let of = |id: &StreamId| *id.as_bytes();
        let outboxes = || self.outbox.iter();
        let messages =
            outboxes().flat_map(|(id, outbox)| outbox.added.iter().map(move |(slot, added)| (id, slot, added)));
        let users = self.users.values().filter_map(|main_key| Some((main_key, rows.users.get(main_key)?)));
        let (new, old): (Vec<_>, Vec<_>) = self.operations.into_iter().partition(|(_, change)| change.stored == 0);
        let mut queries = vec![
            EMPTY_OUTBOX.each(outboxes().filter(|(_, outbox)| outbox.is_cleared).map(|(id, _)| params![of(id)])),
            PAUSE_OUTBOX.each(outboxes().filter_map(|(id, outbox)| Some(params![of(id), codec::time(outbox.paused?)]))),
            ADD_TO_OUTBOX.each(messages.map(|(id, slot, message)| message_columns(id, *slot, message))),
            FREE_KEY.each(self.freed_keys.iter().map(|(key, owner)| params![key, of(owner)])),
            OWN_KEY.each(
                self.owned_keys.iter().map(|(key, (owner, until))| params![key, of(owner), until.map(codec::time)]),
            ),
            INSERT_OPERATION.each(new.into_iter().map(|(id, change)| {
                let (first, last) = ([of(&id).into(), change.kind.into()], change.origin.into());
                first.into_iter().chain(change.columns()).chain([last]).collect()
            })),
            UPDATE_OPERATION.each(old.into_iter().map(|(id, change)| {
                let first = [of(&id).into(), codec::integer(change.stored).into()];
                first.into_iter().chain(change.columns()).collect()
            })),
            APPEND_EVENT.each(self.events.iter().map(|(stream, index, event)| {
                let (event_type, at) = (event.event_type.as_str(), codec::time(event.at));
                params![of(stream), codec::integer(*index), event_type, at, &*event.data]
            })),
            deliveries::put(&self.deliveries),
            RECORD_INBOUND.each(self.inbound.iter().map(|(id, at)| params![id.as_bytes(), *at])),
            REMEMBER_USER.each(
                users.map(|(main_key, user)| {
                    params![main_key.as_bytes(), &*user.relays, user.at, user.signer.as_deref()]
                }),
            ),
        ];
        queries.extend(passkeys::changes(&self.passkeys));
        queries.push(payment_records::put(&self.payment_records));
        queries.push(self.sums.put());
        queries.push(login_records::add(&self.login_records));
        queries.push(idempotency_records::put(self.records.values()));
        queries.extend(rows.audit.queries());
        queries.retain(|query| !query.is_nothing());
        queries
    }
}

impl Change {
    /// The columns that are written for both new and existing operations.
    fn columns(self) -> [Param; 10] {
        [
            self.state.into(),
            codec::integer(self.revision).into(),
            codec::integer(self.next_index).into(),
            self.wake_at.into(),
            codec::limit(self.outbox).into(),
            self.correlations.into(),
            self.finished_at.into(),
            self.done.into(),
            self.watched.into(),
            self.at.into(),
        ]
    }
}

fn message_columns(operation: &StreamId, slot: usize, message: &OutboxMessage) -> Vec<Param> {
    params![
        operation.as_bytes(),
        codec::limit(slot),
        message.kind,
        &*message.content,
        message.main_key.as_bytes(),
        codec::write_public_keys(&message.recipients),
        codec::write_public_keys(&message.participants),
        codec::time(message.until),
        codec::time(message.made_at),
        codec::time(message.not_before),
    ]
}
