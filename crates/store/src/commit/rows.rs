//! The rows that a group of commits depends on: read at once, then kept up to date in memory.

use std::collections::{HashMap, HashSet};

use usher_engine::StreamId;
use usher_engine::ports::{Commit, CorrelationKey, IdempotencyKey, OutboxChange, OutboxMessage, Revision};
use usher_protocol::{EventId, PublicKey};

use crate::codec::{self, Unreadable};
use crate::records::audit_log::{self, Added};
use crate::records::payment_records::{self, Booked};
use crate::row::{Answer, Row};
use crate::statement::{Query, Statement, params};

/// The columns of an operation's row that the store itself maintains.
#[derive(Clone, Debug, Default)]
pub(super) struct Operation {
    pub(super) revision: u64,
    pub(super) next_index: u64,
    /// The number of messages in the outbox.
    pub(super) outbox: usize,
    pub(super) correlations: Vec<CorrelationKey>,
    pub(super) is_open: bool,
    /// The index after the stream's last event, which is never overwritten, even if the row is damaged.
    pub(super) after_last: u64,
}

#[derive(Clone, Debug)]
pub(super) struct User {
    /// The addresses as stored.
    pub(super) relays: String,
    pub(super) at: i64,
    pub(super) signer: Option<String>,
}

/// Absent rows are not in the maps.
pub(super) struct Rows {
    /// Damaged ones affect only the commits that need them.
    operations: HashMap<StreamId, Result<Operation, Unreadable>>,
    /// The operations that hold the claimed or kept keys.
    keys: HashMap<CorrelationKey, Result<StreamId, Unreadable>>,
    pub(super) inbound: HashSet<EventId>,
    /// Damaged ones are absent: they stay until a commit replaces all data of their user.
    pub(super) users: HashMap<PublicKey, User>,
    pub(super) records: HashMap<IdempotencyKey, i64>,
    /// Damaged ones are absent: a commit replaces them.
    pub(super) payments: HashMap<StreamId, Booked>,
    /// Additions to the audit log.
    pub(super) audit: Added,
}

const DURING: &str = "read what a commit depends on";

const OPERATIONS: Statement = Statement::new(
    DURING,
    "SELECT id, revision, next_index, outbox, correlations, finished_at IS NULL,
         (SELECT max(idx) FROM events WHERE stream = operations.id)
     FROM operations WHERE id = ?1",
);

const KEYS: Statement = Statement::new(DURING, "SELECT key, operation FROM correlations WHERE key = ?1");

const INBOUND: Statement = Statement::new(DURING, "SELECT id FROM inbound WHERE id = ?1");

const USERS: Statement =
    Statement::new(DURING, "SELECT main_key, relays, at, signer FROM user_relays WHERE main_key = ?1");

const RECORDS: Statement = Statement::new(DURING, "SELECT key, at FROM answers WHERE key = ?1");

pub(super) fn messages(commit: &Commit) -> &[OutboxMessage] {
    match &commit.outbox {
        OutboxChange::Replace(messages) | OutboxChange::Add(messages) if !commit.finished => messages,
        OutboxChange::Replace(_) | OutboxChange::Add(_) | OutboxChange::Keep | OutboxChange::Pause(_) => &[],
    }
}

/// The claimed keys that another operation may have.
pub(super) fn contended(commit: &Commit) -> &[CorrelationKey] {
    if commit.random_keys { &[] } else { &commit.claims }
}

/// Each once.
fn distinct<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The queries whose answers [`Rows::new`] takes.
pub(super) fn reads(commits: &[&Commit]) -> Vec<Query> {
    let operations = distinct(commits.iter().map(|commit| *commit.operation.as_bytes()));
    let keys = commits.iter().flat_map(|commit| contended(commit).iter().chain(commit.kept.iter().map(|(key, _)| key)));
    let keys = distinct(keys.map(|key| *key.as_bytes()));
    let inbound = distinct(commits.iter().flat_map(|commit| &commit.inbound).map(|id| *id.as_bytes()));
    let users = commits.iter().flat_map(|commit| {
        let of_relays = commit.user_relays.iter().map(|relays| relays.main_key);
        let of_signers = commit.user_signers.iter().map(|signer| signer.main_key);
        of_relays.chain(of_signers).chain(messages(commit).iter().map(|message| message.main_key))
    });
    let users = distinct(users.map(|user| *user.as_bytes()));
    let records = commits.iter().filter_map(|commit| commit.idempotency_record.as_ref());
    let records = distinct(records.map(|new| new.record.key.0));
    let payments = commits.iter().filter(|commit| commit.payment_record.is_some() && commit.expected != Revision::New);
    let payments = distinct(payments.map(|commit| *commit.operation.as_bytes()));
    let mut reads = vec![
        OPERATIONS.each(operations.into_iter().map(|id| params![id])),
        KEYS.each(keys.into_iter().map(|key| params![key])),
        INBOUND.each(inbound.into_iter().map(|id| params![id])),
        USERS.each(users.into_iter().map(|user| params![user])),
        RECORDS.each(records.into_iter().map(|key| params![key])),
        payment_records::BOOKED.each(payments.into_iter().map(|id| params![id])),
    ];
    if commits.iter().any(|commit| commit.audit.is_some()) {
        reads.push(audit_log::end());
    }
    reads
}

impl Rows {
    /// The answers to [`reads`].
    pub(super) fn new(read: &[Answer]) -> Result<Self, Unreadable> {
        let [operations, keys, inbound, users, records, payments, audit @ ..] = read else {
            return Err(Unreadable("what a commit depends on"));
        };
        Ok(Self {
            operations: operations.all(|row| Ok((StreamId::from_bytes(row.bytes(0)?), operation(row))))?,
            keys: keys
                .all(|row| Ok((CorrelationKey::from_bytes(row.bytes(0)?), row.bytes(1).map(StreamId::from_bytes))))?,
            inbound: inbound.all(|row| row.bytes(0).map(EventId::from_byte_array))?,
            users: users.rows.iter().filter_map(|row| user(row).ok()).collect(),
            // A record with an impossible time is not replaced: the request may have been carried out.
            records: records.all(|row| Ok((IdempotencyKey(row.bytes(0)?), row.int(1).unwrap_or(i64::MAX))))?,
            payments: payments.rows.iter().filter_map(|row| payment_records::booked(row).ok()).collect(),
            audit: Added::after(audit.first()),
        })
    }

    pub(super) fn operation(&self, id: StreamId) -> Result<Option<&Operation>, Unreadable> {
        self.operations.get(&id).map(|found| found.as_ref().map_err(|damage| *damage)).transpose()
    }

    pub(super) fn set_operation(&mut self, id: StreamId, operation: Operation) {
        self.operations.insert(id, Ok(operation));
    }

    /// The operation that holds this key.
    pub(super) fn owner(&self, key: CorrelationKey) -> Result<Option<StreamId>, Unreadable> {
        self.keys.get(&key).copied().transpose()
    }

    pub(super) fn set_owner(&mut self, key: CorrelationKey, owner: StreamId) {
        self.keys.insert(key, Ok(owner));
    }

    /// Frees the key if this operation held it.
    pub(super) fn free(&mut self, key: CorrelationKey, owner: StreamId) {
        if self.keys.get(&key).is_some_and(|found| found.as_ref().is_ok_and(|found| *found == owner)) {
            self.keys.remove(&key);
        }
    }
}

fn operation(row: &Row) -> Result<Operation, Unreadable> {
    let (revision, next_index) = (row.int(1)?, row.int(2)?);
    codec::check_numbers(revision, next_index)?;
    let last: Option<i64> = row.optional_int(6)?;
    Ok(Operation {
        revision,
        next_index,
        outbox: row.int(3)?,
        correlations: codec::read_correlations(row.blob(4)?)?,
        is_open: row.is_true(5)?,
        after_last: last.and_then(|last| u64::try_from(last).ok()).map_or(0, |last| last.saturating_add(1)),
    })
}

fn user(row: &Row) -> Result<(PublicKey, User), Unreadable> {
    let user = User { relays: row.string(1)?, at: row.int(2)?, signer: row.optional_string(3)? };
    Ok((PublicKey::from_byte_array(row.bytes(0)?), user))
}
