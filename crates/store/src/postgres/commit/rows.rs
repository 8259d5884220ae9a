//! What a group of commits depends on: read in one round trip, then kept up to date in memory.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio_postgres::Row;
use usher_engine::StreamId;
use usher_engine::ports::{Commit, CorrelationKey, IdempotencyKey, OutboxChange, OutboxMessage};
use usher_protocol::{EventId, PublicKey};

use super::super::audit_log::{self, Added};
use super::super::columns;
use super::super::failure::PostgresFailure;
use super::super::query::{Answer, Query, list};
use crate::codec;

/// The columns of an operation's row that the store itself counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Operation {
    pub(super) revision: u64,
    pub(super) next_index: u64,
    /// Messages in the outbox.
    pub(super) outbox: usize,
    pub(super) correlations: Vec<CorrelationKey>,
    pub(super) is_reserved: bool,
    pub(super) is_open: bool,
    /// The index after the stream's last event, which is never overwritten, also when the row is damaged.
    pub(super) after_last: u64,
}

/// What is known of a user.
#[derive(Clone, Debug)]
pub(super) struct User {
    /// The addresses as they are stored.
    pub(super) relays: String,
    pub(super) at: i64,
    pub(super) signer: Option<String>,
}

/// See the module. What is not there is not in the maps.
pub(super) struct Rows {
    /// Damaged ones concern only the commits that need them.
    operations: HashMap<StreamId, Result<Operation, PostgresFailure>>,
    /// The operations that have the keys which are claimed or kept.
    keys: HashMap<CorrelationKey, Result<StreamId, PostgresFailure>>,
    pub(super) inbound: HashSet<EventId>,
    pub(super) users: HashMap<PublicKey, User>,
    /// When the idempotency records were made.
    pub(super) records: HashMap<IdempotencyKey, i64>,
    /// What the audit log gets.
    pub(super) audit: Added,
}

const OPERATIONS: &str = "SELECT id, revision, next_index, outbox, correlations, kind, finished_at IS NULL,
        (SELECT max(idx) FROM events WHERE stream = operations.id)
    FROM operations WHERE id = ANY($1)";

const KEYS: &str = "SELECT key, operation FROM correlations WHERE key = ANY($1)";

const INBOUND: &str = "SELECT id FROM inbound WHERE id = ANY($1)";

const USERS: &str = "SELECT main_key, relays, at, signer FROM user_relays WHERE main_key = ANY($1)";

const RECORDS: &str = "SELECT key, at FROM answers WHERE key = ANY($1)";

/// The messages that the commit puts into the outbox.
pub(super) fn messages(commit: &Commit) -> &[OutboxMessage] {
    match &commit.outbox {
        OutboxChange::Replace(messages) | OutboxChange::Add(messages) if !commit.finished => messages,
        OutboxChange::Replace(_) | OutboxChange::Add(_) | OutboxChange::Keep | OutboxChange::Pause(_) => &[],
    }
}

/// The queries whose answers [`Rows::new`] takes.
pub(super) fn reads(commits: &[&Commit]) -> Vec<Query> {
    const DURING: &str = "read what a commit depends on";
    let operations: BTreeSet<_> = commits.iter().map(|commit| *commit.operation.as_bytes()).collect();
    let keys = commits.iter().flat_map(|commit| commit.claims.iter().chain(commit.kept.iter().map(|(key, _)| key)));
    let keys: BTreeSet<_> = keys.map(|key| *key.as_bytes()).collect();
    let inbound: BTreeSet<_> = commits.iter().flat_map(|commit| &commit.inbound).map(|id| *id.as_bytes()).collect();
    let users = commits.iter().flat_map(|commit| {
        let of_relays = commit.user_relays.iter().map(|relays| relays.main_key);
        let of_signers = commit.user_signers.iter().map(|signer| signer.main_key);
        of_relays.chain(of_signers).chain(messages(commit).iter().map(|message| message.main_key))
    });
    let users: BTreeSet<_> = users.map(|user| *user.as_bytes()).collect();
    let records = commits.iter().filter_map(|commit| commit.idempotency_record.as_ref());
    let records: BTreeSet<_> = records.map(|new| new.record.key.0).collect();
    let mut reads = vec![
        Query::new(DURING, OPERATIONS, vec![list(operations)]),
        Query::new(DURING, KEYS, vec![list(keys)]),
        Query::new(DURING, INBOUND, vec![list(inbound)]),
        Query::new(DURING, USERS, vec![list(users)]),
        Query::new(DURING, RECORDS, vec![list(records)]),
    ];
    if commits.iter().any(|commit| commit.audit.is_some()) {
        reads.push(audit_log::end());
    }
    reads
}

impl Rows {
    /// The answers to [`reads`].
    pub(super) fn new(read: &[Answer]) -> Result<Self, PostgresFailure> {
        let [operations, keys, inbound, users, records, audit @ ..] = read else {
            return Err(PostgresFailure::Unreadable("what a commit depends on"));
        };
        let operations = operations.rows.iter().map(|row| {
            let id = StreamId::from_bytes(columns::bytes(row, 0)?);
            Ok::<_, PostgresFailure>((id, operation(row)))
        });
        let keys = keys.rows.iter().map(|row| {
            let key = CorrelationKey::from_bytes(columns::bytes(row, 0)?);
            Ok::<_, PostgresFailure>((key, columns::bytes(row, 1).map(StreamId::from_bytes)))
        });
        let inbound = inbound.rows.iter().map(|row| columns::bytes(row, 0).map(EventId::from_byte_array));
        let users = users.rows.iter().map(|row| {
            let user = PublicKey::from_byte_array(columns::bytes(row, 0)?);
            let (relays, at) = (columns::text(row, 1)?, columns::get(row, 2)?);
            Ok::<_, PostgresFailure>((user, User { relays, at, signer: columns::optional_text(row, 3)? }))
        });
        let records = records.rows.iter().map(|row| {
            let key = IdempotencyKey(columns::bytes(row, 0)?);
            Ok::<_, PostgresFailure>((key, columns::get(row, 1)?))
        });
        Ok(Self {
            operations: operations.collect::<Result<_, _>>()?,
            keys: keys.collect::<Result<_, _>>()?,
            inbound: inbound.collect::<Result<_, _>>()?,
            users: users.collect::<Result<_, _>>()?,
            records: records.collect::<Result<_, _>>()?,
            audit: Added::after(audit.first()),
        })
    }

    /// The operation, if it is there.
    pub(super) fn operation(&self, id: StreamId) -> Result<Option<&Operation>, PostgresFailure> {
        match self.operations.get(&id) {
            None => Ok(None),
            Some(Ok(operation)) => Ok(Some(operation)),
            Some(Err(damage)) => Err(damage.clone()),
        }
    }

    pub(super) fn set_operation(&mut self, id: StreamId, operation: Operation) {
        self.operations.insert(id, Ok(operation));
    }

    /// The operation that has this key.
    pub(super) fn owner(&self, key: CorrelationKey) -> Result<Option<StreamId>, PostgresFailure> {
        self.keys.get(&key).cloned().transpose()
    }

    pub(super) fn set_owner(&mut self, key: CorrelationKey, owner: StreamId) {
        self.keys.insert(key, Ok(owner));
    }

    /// The key is nobody's if it was this operation's.
    pub(super) fn free(&mut self, key: CorrelationKey, owner: StreamId) {
        if self.keys.get(&key).is_some_and(|found| found.as_ref().is_ok_and(|found| *found == owner)) {
            self.keys.remove(&key);
        }
    }
}

fn operation(row: &Row) -> Result<Operation, PostgresFailure> {
    let (revision, next_index) = (columns::int(row, 1)?, columns::int(row, 2)?);
    codec::check_numbers(revision, next_index)?;
    let last: Option<i64> = columns::get(row, 7)?;
    Ok(Operation {
        revision,
        next_index,
        outbox: columns::int(row, 3)?,
        correlations: codec::read_correlations(columns::get(row, 4)?)?,
        is_reserved: columns::get::<i64>(row, 5)? == 0,
        is_open: columns::get(row, 6)?,
        after_last: last.and_then(|last| u64::try_from(last).ok()).map_or(0, |last| last.saturating_add(1)),
    })
}
