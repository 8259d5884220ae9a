//! What a group of commits has changed, as statements: one for each table and kind of change, however many commits there are.

use std::collections::BTreeMap;

use usher_engine::event::NewEvent;
use usher_engine::ports::{Commit, CorrelationKey, IdempotencyKey, IdempotencyRecord, OutboxMessage, PasskeyChange};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::{EventId, PublicKey};

use super::super::payment_records::{self, Entries};
use super::super::query::{Query, list, params};
use super::super::{deliveries, idempotency_records, passkeys};
use super::rows::{Operation, Rows};
use crate::codec;

/// See the module.
#[derive(Default)]
pub(super) struct Writes {
    operations: BTreeMap<StreamId, Change>,
    /// With their streams and indexes.
    pub(super) events: Vec<(StreamId, u64, NewEvent)>,
    /// Stream, index, queue, and when it is due.
    pub(super) deliveries: Vec<(StreamId, u64, StreamId, UnixMillis)>,
    pub(super) outbox: BTreeMap<StreamId, Outbox>,
    /// With the operations that had them.
    freed_keys: Vec<([u8; 16], StreamId)>,
    /// With the operations that have them, and until when.
    owned_keys: BTreeMap<[u8; 16], (StreamId, Option<UnixMillis>)>,
    pub(super) inbound: Vec<(EventId, i64)>,
    /// What is known of them is in the rows.
    pub(super) users: BTreeMap<[u8; 32], PublicKey>,
    /// With the times at which they happened.
    pub(super) passkeys: Vec<(PasskeyChange, UnixMillis)>,
    pub(super) payment_records: Entries,
    pub(super) records: BTreeMap<IdempotencyKey, IdempotencyRecord>,
}

/// An operation as it is after the last commit of the group.
struct Change {
    /// The revision that is stored; 0 for none.
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
    watched: Option<Vec<u8>>,
    at: i64,
    origin: Option<i64>,
}

/// What becomes of an operation's messages.
#[derive(Default)]
pub(super) struct Outbox {
    /// Those that are stored go.
    is_cleared: bool,
    /// Those that are stored are not sent before this.
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
    /// The operation's row after the commit.
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
            watched: commit.watched.filter(|_| !commit.finished).map(|hash| hash.as_bytes().to_vec()),
            at: codec::time(commit.at),
            origin: first.map_or(commit.origin.map(|origin| origin.0), |first| first.origin),
        };
        self.operations.insert(commit.operation, change);
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

    /// The statements, in the order in which they must run.
    pub(super) fn queries(&self, rows: &Rows) -> Vec<Query> {
        let mut queries = Vec::new();
        self.change_outbox(&mut queries);
        self.change_keys(&mut queries);
        self.change_operations(&mut queries);
        self.append_events(&mut queries);
        if !self.inbound.is_empty() {
            const INSERT: &str = "INSERT INTO inbound (id, at) SELECT * FROM unnest($1::bytea[], $2::bigint[])";
            let ids = list(self.inbound.iter().map(|(id, _)| id.as_bytes()));
            let times = list(self.inbound.iter().map(|(_, at)| *at));
            queries.push(Query::new("record inbound events", INSERT, vec![ids, times]));
        }
        self.change_users(rows, &mut queries);
        passkeys::changes(&self.passkeys, &mut queries);
        if !self.payment_records.is_empty() {
            queries.push(payment_records::put(&self.payment_records));
        }
        if !self.records.is_empty() {
            queries.push(idempotency_records::put(self.records.values()));
        }
        queries.extend(rows.audit.queries());
        queries
    }

    fn change_outbox(&self, queries: &mut Vec<Query>) {
        const CLEAR: &str = "DELETE FROM outbox WHERE operation = ANY($1::bytea[])";
        const PAUSE: &str = "UPDATE outbox SET not_before = n.until
            FROM unnest($1::bytea[], $2::bigint[]) AS n (operation, until) WHERE outbox.operation = n.operation";
        const INSERT: &str = "INSERT INTO outbox
                (operation, slot, kind, content, main_key, recipients, participants, until, made_at, not_before)
            SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bytea[],
                $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[])";
        let cleared: Vec<_> = self.outbox.iter().filter(|(_, outbox)| outbox.is_cleared).collect();
        if !cleared.is_empty() {
            let operations = list(cleared.iter().map(|(id, _)| id.as_bytes()));
            queries.push(Query::new("empty outboxes", CLEAR, vec![operations]));
        }
        let paused = self.outbox.iter().filter_map(|(id, outbox)| Some((id, outbox.paused?)));
        let paused: Vec<_> = paused.collect();
        if !paused.is_empty() {
            let operations = list(paused.iter().map(|(id, _)| id.as_bytes()));
            let times = list(paused.iter().map(|(_, until)| codec::time(*until)));
            queries.push(Query::new("put off outboxes", PAUSE, vec![operations, times]));
        }
        let added = self.outbox.iter().flat_map(|(id, outbox)| outbox.added.iter().map(move |added| (id, added)));
        let added: Vec<_> = added.collect();
        if !added.is_empty() {
            let messages = || added.iter().map(|(_, (_, message))| message);
            let columns = vec![
                list(added.iter().map(|(id, _)| id.as_bytes())),
                list(added.iter().map(|(_, (slot, _))| codec::limit(*slot))),
                list(messages().map(|message| message.kind)),
                list(messages().map(|message| &*message.content)),
                list(messages().map(|message| message.main_key.as_bytes())),
                list(messages().map(|message| codec::write_public_keys(&message.recipients))),
                list(messages().map(|message| codec::write_public_keys(&message.participants))),
                list(messages().map(|message| codec::time(message.until))),
                list(messages().map(|message| codec::time(message.made_at))),
                list(messages().map(|message| codec::time(message.not_before))),
            ];
            queries.push(Query::new("put messages into the outbox", INSERT, columns));
        }
    }

    fn change_keys(&self, queries: &mut Vec<Query>) {
        // A missing key is free already: a damaged table must not prevent its operation from finishing.
        const FREE: &str = "DELETE FROM correlations USING unnest($1::bytea[], $2::bytea[]) AS n (key, operation)
            WHERE correlations.key = n.key AND correlations.operation = n.operation";
        const OWN: &str = "INSERT INTO correlations (key, operation, until)
            SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[])
            ON CONFLICT (key) DO UPDATE SET operation = excluded.operation, until = excluded.until";
        if !self.freed_keys.is_empty() {
            let keys = list(self.freed_keys.iter().map(|(key, _)| key));
            let owners = list(self.freed_keys.iter().map(|(_, owner)| owner.as_bytes()));
            queries.push(Query::new("free correlation keys", FREE, vec![keys, owners]));
        }
        if !self.owned_keys.is_empty() {
            let keys = list(self.owned_keys.keys());
            let owners = list(self.owned_keys.values().map(|(owner, _)| owner.as_bytes()));
            let times = list(self.owned_keys.values().map(|(_, until)| until.map(codec::time)));
            queries.push(Query::new("claim correlation keys", OWN, vec![keys, owners, times]));
        }
    }

    fn change_operations(&self, queries: &mut Vec<Query>) {
        const INSERT: &str = "INSERT INTO operations
                (id, kind, state, revision, next_index, wake_at, outbox, correlations, finished_at, done, watched, at,
                origin)
            SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
                $7::bigint[], $8::bytea[], $9::bigint[], $10::boolean[], $11::bytea[], $12::bigint[], $13::bigint[])";
        const UPDATE: &str = "WITH changed AS (
                UPDATE operations SET state = n.state, revision = n.revision, next_index = n.next_index,
                    wake_at = n.wake_at, outbox = n.outbox, correlations = n.correlations, finished_at = n.finished_at,
                    done = n.done, watched = n.watched, at = n.at
                FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
                        $7::bigint[], $8::bytea[], $9::bigint[], $10::boolean[], $11::bytea[], $12::bigint[])
                    AS n (id, stored, state, revision, next_index, wake_at, outbox, correlations, finished_at, done,
                        watched, at)
                WHERE operations.id = n.id AND operations.revision = n.stored AND operations.finished_at IS NULL
                RETURNING 1
            ) SELECT expect_rows((SELECT count(*) FROM changed), $13::bigint)";
        let (new, old): (Vec<_>, Vec<_>) = self.operations.iter().partition(|(_, change)| change.stored == 0);
        for (rows, is_new) in [(new, true), (old, false)] {
            if rows.is_empty() {
                continue;
            }
            let changes = || rows.iter().map(|(_, change)| change);
            let second = |change: &&Change| if is_new { i64::from(change.kind) } else { codec::integer(change.stored) };
            let mut columns = vec![
                list(rows.iter().map(|(id, _)| id.as_bytes())),
                list(changes().map(second)),
                list(changes().map(|change| &*change.state)),
                list(changes().map(|change| codec::integer(change.revision))),
                list(changes().map(|change| codec::integer(change.next_index))),
                list(changes().map(|change| change.wake_at)),
                list(changes().map(|change| codec::limit(change.outbox))),
                list(changes().map(|change| &*change.correlations)),
                list(changes().map(|change| change.finished_at)),
                list(changes().map(|change| change.done)),
                list(changes().map(|change| change.watched.clone())),
                list(changes().map(|change| change.at)),
            ];
            if is_new {
                columns.push(list(changes().map(|change| change.origin)));
                queries.push(Query::new("insert operations", INSERT, columns));
            } else {
                columns.extend(params![codec::limit(rows.len())]);
                queries.push(Query::new("update operations", UPDATE, columns));
            }
        }
    }

    fn append_events(&self, queries: &mut Vec<Query>) {
        const INSERT: &str = "INSERT INTO events (stream, idx, type, at, data)
            SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::text[])";
        if !self.events.is_empty() {
            let columns = vec![
                list(self.events.iter().map(|(stream, ..)| stream.as_bytes())),
                list(self.events.iter().map(|(_, index, _)| codec::integer(*index))),
                list(self.events.iter().map(|(.., event)| event.event_type.as_str())),
                list(self.events.iter().map(|(.., event)| codec::time(event.at))),
                list(self.events.iter().map(|(.., event)| &*event.data)),
            ];
            queries.push(Query::new("append events", INSERT, columns));
        }
        if !self.deliveries.is_empty() {
            queries.push(deliveries::put(&self.deliveries));
        }
    }

    fn change_users(&self, rows: &Rows, queries: &mut Vec<Query>) {
        const PUT: &str = "INSERT INTO user_relays (main_key, relays, at, signer)
            SELECT * FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::text[])
            ON CONFLICT (main_key) DO UPDATE
                SET relays = excluded.relays, at = excluded.at, signer = excluded.signer";
        let users: Vec<_> =
            self.users.values().filter_map(|main_key| Some((main_key, rows.users.get(main_key)?))).collect();
        if !users.is_empty() {
            let columns = vec![
                list(users.iter().map(|(main_key, _)| main_key.as_bytes())),
                list(users.iter().map(|(_, user)| &*user.relays)),
                list(users.iter().map(|(_, user)| user.at)),
                list(users.iter().map(|(_, user)| user.signer.as_deref())),
            ];
            queries.push(Query::new("remember users", PUT, columns));
        }
    }
}
