//! The storage ports in memory, as simple as possible. The conformance suite of `usher-store` runs on it as well.

#![allow(clippy::missing_panics_doc)] // the rows of a store that only tests have

mod audit_log;
mod deliveries;
mod idempotency_records;
mod openid_records;
mod payment_records;
mod tickets;
mod users;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use usher_engine::event::Event;
use usher_engine::ports::{
    AllCommitted, BookedPayment, Commit, Conflict, CorrelationKey, Delivery, IdempotencyKey, IdempotencyRecord, KeyId,
    OpenOperation, OperationHead, OperationKind, OutboxChange, OutboxMessage, Passkey, PasskeyChange, PasskeyCount,
    PaymentFilter, Revision, SignerSession, SignerSessionUpdate, State, Store, StoreError, StoredKey, StoredOperation,
    UserSigner,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::message::PaymentHash;
use usher_protocol::{EventId, PublicKey};

use self::audit_log::AuditLog;
use self::deliveries::pending;
use self::openid_records::OpenIdRows;
use self::payment_records::PaymentRecords;
use self::tickets::Tickets;

/// Everything that a store keeps, in memory.
pub struct MemoryStore {
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    operations: BTreeMap<StreamId, Operation>,
    inbound: HashMap<EventId, UnixMillis>,
    user_relays: HashMap<PublicKey, (UnixMillis, Vec<String>)>,
    user_signers: HashMap<PublicKey, SignerSession>,
    passkeys: HashMap<Vec<u8>, Passkey>,
    payment_records: PaymentRecords,
    deliveries: BTreeMap<(StreamId, u64), Delivery>,
    idempotency_records: HashMap<IdempotencyKey, IdempotencyRecord>,
    settings: HashMap<String, String>,
    api_keys: BTreeMap<KeyId, StoredKey>,
    /// Keys of finished operations that no other operation can claim yet.
    kept: HashMap<CorrelationKey, (StreamId, UnixMillis)>,
    openid: OpenIdRows,
    tickets: Tickets,
    audit_log: AuditLog,
}

struct Operation {
    stored: StoredOperation,
    at: UnixMillis,
    wake_at: Option<UnixMillis>,
    watched: Option<PaymentHash>,
    correlations: Vec<CorrelationKey>,
    events: Vec<Event>,
    /// When its events happened, by index.
    times: BTreeMap<u64, UnixMillis>,
    outbox: Vec<OutboxMessage>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Operation {
    /// An operation before its first commit.
    const fn new(kind: OperationKind) -> Self {
        Self {
            stored: StoredOperation {
                kind,
                origin: None,
                state: State(String::new()),
                revision: 0,
                next_index: 0,
                done: false,
                finished_at: None,
            },
            at: UnixMillis(0),
            wake_at: None,
            watched: None,
            correlations: Vec::new(),
            events: Vec::new(),
            times: BTreeMap::new(),
            outbox: Vec::new(),
        }
    }
}

impl MemoryStore {
    /// An empty one: only the reserved stream is there.
    pub fn new() -> Self {
        let mut reserved = Operation::new(OperationKind::Subscriptions);
        reserved.stored.state = State("{}".to_owned());
        reserved.stored.revision = 1;
        let rows = Rows { operations: BTreeMap::from([(StreamId::SUBSCRIPTIONS, reserved)]), ..Rows::default() };
        Self { rows: Mutex::new(rows) }
    }
}

impl Rows {
    /// Noted once a day.
    fn keep_relays(&mut self, user: &PublicKey, now: UnixMillis) {
        if let Some((at, _)) = self.user_relays.get_mut(user)
            && *at < now.minus(Duration::from_secs(24 * 3600))
        {
            *at = now;
        }
    }

    /// The conflict of a commit with stored rows or with the commits `earlier` in the same transaction.
    fn conflict(&self, commit: &Commit, earlier: &[Commit]) -> Option<Conflict> {
        if let Some(new) = &commit.idempotency_record {
            let mut others = earlier.iter().filter_map(|other| other.idempotency_record.as_ref());
            if others.any(|other| other.record.key == new.record.key) || self.is_recorded(new) {
                return Some(Conflict::AlreadyRequested);
            }
        }
        let stored = self.operations.get(&commit.operation).map(|operation| &operation.stored);
        let as_expected = match commit.expected {
            Revision::New => stored.is_none(),
            Revision::At(revision) => {
                stored.is_some_and(|stored| stored.revision == revision && stored.finished_at.is_none())
            }
            Revision::Any => stored.is_some_and(|stored| stored.finished_at.is_none()),
        };
        if !as_expected || earlier.iter().any(|other| other.operation == commit.operation) {
            return Some(Conflict::Revision);
        }
        for claim in &commit.claims {
            let open = self.operations.iter().find(|(_, operation)| operation.correlations.contains(claim));
            let owner = open.map(|(owner, _)| *owner).or(self.kept.get(claim).map(|(owner, _)| *owner));
            if let Some(owner) = owner.filter(|owner| *owner != commit.operation) {
                return Some(Conflict::Correlation(owner));
            }
        }
        if let Some(owner) = earlier.iter().find(|other| other.claims.iter().any(|key| commit.claims.contains(key))) {
            return Some(Conflict::Correlation(owner.operation));
        }
        let seen =
            |inbound| self.inbound.contains_key(inbound) || earlier.iter().any(|other| other.inbound.contains(inbound));
        commit.inbound.iter().any(seen).then_some(Conflict::InboundSeen)
    }

    fn apply(&mut self, commit: Commit) -> OperationHead {
        let operation = self.operations.entry(commit.operation).or_insert_with(|| Operation::new(commit.kind));
        if commit.expected == Revision::New {
            operation.stored.origin = commit.origin;
        }
        operation.stored.state = commit.state;
        operation.stored.revision += 1;
        operation.stored.done = commit.done;
        operation.at = commit.at;
        operation.wake_at = commit.wake_at;
        operation.watched = commit.watched;
        for (nth, event) in commit.events.into_iter().enumerate() {
            let (at, event) = (event.at, event.at_index(operation.stored.next_index));
            operation.stored.next_index += 1;
            operation.times.insert(event.index, at);
            operation.events.push(event.clone());
            if commit.deliver {
                let queue = commit.delivery_queues.get(nth).copied().unwrap_or(commit.operation);
                let delivery = Delivery { queue, ..pending(commit.operation, event, at) };
                self.deliveries.insert((commit.operation, delivery.event.index), delivery);
            }
        }
        for claim in commit.claims {
            self.kept.remove(&claim);
            if !operation.correlations.contains(&claim) {
                operation.correlations.push(claim);
            }
        }
        let users: Vec<_> = match &commit.outbox {
            OutboxChange::Replace(messages) | OutboxChange::Add(messages) if !commit.finished => {
                messages.iter().map(|message| message.main_key).collect()
            }
            _ => Vec::new(),
        };
        match commit.outbox {
            OutboxChange::Keep => {}
            OutboxChange::Replace(messages) => operation.outbox = messages,
            OutboxChange::Add(messages) => operation.outbox.extend(messages),
            OutboxChange::Pause(until) => {
                operation.outbox.iter_mut().for_each(|message| message.not_before = until);
            }
        }
        if commit.finished {
            operation.stored.finished_at = Some(commit.at);
            operation.wake_at = None;
            operation.watched = None;
            for (key, until) in commit.kept {
                if operation.correlations.contains(&key) {
                    self.kept.insert(key, (commit.operation, until));
                }
            }
            operation.correlations.clear();
            operation.outbox.clear();
        }
        let head = OperationHead { revision: operation.stored.revision, next_index: operation.stored.next_index };
        users.iter().for_each(|user| self.keep_relays(user, commit.at));
        for inbound in commit.inbound {
            self.inbound.insert(inbound, commit.at);
        }
        for relays in commit.user_relays {
            let known = self.user_relays.entry(relays.main_key).or_default();
            known.0 = commit.at;
            if !relays.relays.is_empty() {
                known.1 = relays.relays;
            }
        }
        for UserSigner { main_key, session, update } in commit.user_signers {
            let is_last = |last: &SignerSession| self.user_signers.get(&main_key) == Some(last);
            match update {
                SignerSessionUpdate::Replace(last) if !is_last(&last) => {}
                SignerSessionUpdate::Store | SignerSessionUpdate::Replace(_) => {
                    self.user_relays.entry(main_key).or_default().0 = commit.at;
                    self.user_signers.insert(main_key, session);
                }
                SignerSessionUpdate::Remove if is_last(&session) => {
                    self.user_signers.remove(&main_key);
                }
                SignerSessionUpdate::Remove => {}
            }
        }
        for change in commit.passkeys {
            match change {
                PasskeyChange::Add(passkey) => {
                    self.passkeys.entry(passkey.credential.id.clone()).or_insert(*passkey);
                }
                PasskeyChange::Use { credential_id, state } => {
                    if let Some(passkey) = self.passkeys.get_mut(&credential_id) {
                        passkey.credential.state = state;
                        passkey.used_at = commit.at;
                    }
                }
            }
        }
        if let Some(record) = commit.payment_record {
            self.payment_records.put(commit.operation, record, commit.at);
        }
        if let Some(new) = commit.idempotency_record {
            self.idempotency_records.insert(new.record.key, new.record);
        }
        if let Some(new) = commit.audit {
            self.audit_log.add(&new);
        }
        head
    }
}

/// The entries with times before `before`, oldest first, at most `limit`.
fn oldest<T: Ord>(rows: impl Iterator<Item = (UnixMillis, T)>, before: UnixMillis, limit: usize) -> Vec<T> {
    let mut old: Vec<_> = rows.filter(|(at, _)| *at < before).collect();
    old.sort_unstable();
    old.into_iter().map(|(_, row)| row).take(limit).collect()
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        let mut rows = self.rows.lock();
        for (index, commit) in commits.iter().enumerate() {
            if let Some(conflict) = rows.conflict(commit, &commits[..index]) {
                return Ok(AllCommitted::Conflict(conflict));
            }
        }
        if commits.iter().any(|commit| commit.operation == StreamId::SUBSCRIPTIONS && commit.finished) {
            return Err(StoreError::Failed("the reserved stream stays open".into()));
        }
        Ok(AllCommitted::Done(commits.into_iter().map(|commit| rows.apply(commit)).collect()))
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        Ok(self.rows.lock().operations.get(&id).map(|operation| operation.stored.clone()))
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        let rows = self.rows.lock();
        let found = rows.operations.iter().find(|(_, operation)| operation.correlations.contains(&key));
        Ok(found.map(|(id, operation)| (*id, operation.stored.clone())))
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let rows = self.rows.lock();
        let events = rows.operations.get(&stream).map_or(&[][..], |operation| &operation.events);
        let mut wanted: Vec<_> = events.iter().filter(|event| event.index >= after).take(limit).cloned().collect();
        let is_object = |event: &Event| {
            event.data.starts_with('{') && serde_json::from_str::<serde_json::Value>(&event.data).is_ok()
        };
        match wanted.iter().position(|event| !is_object(event)) {
            Some(0) => return Err(StoreError::DamagedEvent { index: wanted[0].index }),
            Some(first) => wanted.truncate(first),
            None => {}
        }
        Ok(wanted)
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        Ok(self.rows.lock().operations.get(&operation).map_or_else(Vec::new, |operation| operation.outbox.clone()))
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        let rows = self.rows.lock();
        let open = rows
            .operations
            .iter()
            .filter(|(id, operation)| operation.stored.finished_at.is_none() && after.is_none_or(|after| **id > after));
        Ok(open
            .take(limit)
            .map(|(id, operation)| OpenOperation {
                id: *id,
                kind: operation.stored.kind,
                next_index: operation.stored.next_index,
                at: operation.at,
                wake_at: operation.wake_at,
                done: operation.stored.done,
                watched: operation.watched,
                correlations: operation.correlations.clone(),
                has_outbox: !operation.outbox.is_empty(),
                damaged: false,
            })
            .collect())
    }

    async fn subscriptions(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        let rows = self.rows.lock();
        let subscriptions = rows.operations.iter().filter(|(id, operation)| {
            let stored = &operation.stored;
            stored.kind == OperationKind::Subscription
                && stored.finished_at.is_none()
                && after.is_none_or(|after| **id > after)
        });
        Ok(subscriptions.take(limit).map(|(id, operation)| (*id, operation.stored.clone())).collect())
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        Ok(self.rows.lock().user_relays.get(main_key).map_or_else(Vec::new, |(_, relays)| relays.clone()))
    }

    async fn payment_records(
        &self,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError> {
        Ok(self.rows.lock().payment_records.list(filter, after, limit))
    }

    async fn payment_record(&self, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        Ok(self.rows.lock().payment_records.find(id))
    }

    async fn refunded(&self, payment: StreamId) -> Result<u64, StoreError> {
        Ok(self.rows.lock().payment_records.refunded(payment))
    }

    async fn is_paid(&self, hash: PaymentHash) -> Result<bool, StoreError> {
        Ok(self.rows.lock().payment_records.is_paid(hash))
    }

    async fn forget_payment_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        Ok(self.rows.lock().payment_records.forget(before, limit))
    }

    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let finished = rows
            .operations
            .iter()
            .filter_map(|(id, operation)| Some((operation.stored.finished_at?, *id)))
            .filter(|(_, id)| !rows.has_pending(*id));
        let finished = oldest(finished, finished_before, limit);
        for id in &finished {
            rows.operations.remove(id);
            rows.deliveries.retain(|(stream, _), _| stream != id);
        }
        Ok(finished.len())
    }

    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError> {
        let is_removed = |id: &StreamId, operation: &mut Operation| {
            ids.contains(id) && operation.stored.finished_at.is_some() && operation.stored.next_index == 0
        };
        self.rows.lock().operations.retain(|id, operation| !is_removed(id, operation));
        Ok(())
    }

    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let finished = rows.operations.iter().filter(|(_, row)| row.stored.kind == kind && row.stored.next_index == 0);
        let finished = finished.filter_map(|(id, row)| Some((row.stored.finished_at?, *id)));
        let finished = oldest(finished, finished_before, limit);
        rows.operations.retain(|id, _| !finished.contains(id));
        Ok(finished.len())
    }

    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let Rows { operations, deliveries, .. } = &mut *rows;
        let Some(operation) = operations.get_mut(&stream).filter(|operation| operation.stored.finished_at.is_none())
        else {
            return Ok(0);
        };
        let goes = |event: &Event| {
            operation.times.get(&event.index).is_some_and(|at| *at < before)
                && !deliveries.contains_key(&(stream, event.index))
                && event.index + 1 < operation.stored.next_index
        };
        let gone = operation.events.iter().take_while(|event| goes(event)).take(limit).count();
        operation.events.drain(..gone);
        Ok(gone)
    }

    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        Ok(self.rows.lock().user_signers.get(main_key).cloned())
    }

    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        Ok(self.rows.lock().user_signers.remove(main_key).is_some())
    }

    async fn passkey(&self, credential_id: &[u8]) -> Result<Option<Passkey>, StoreError> {
        Ok(self.rows.lock().passkeys.get(credential_id).cloned())
    }

    async fn passkey_count(&self, main_key: &PublicKey) -> Result<PasskeyCount, StoreError> {
        let passkeys = &self.rows.lock().passkeys;
        let of_user = passkeys.values().filter(|passkey| passkey.main_key == *main_key).count();
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Ok(PasskeyCount { in_all: number(passkeys.len()), of_user: number(of_user) })
    }

    async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError> {
        let passkeys = &mut self.rows.lock().passkeys;
        let before = passkeys.len();
        passkeys.retain(|_, passkey| passkey.main_key != *main_key);
        Ok(before - passkeys.len())
    }

    async fn forget_unused_passkeys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let passkeys = &mut self.rows.lock().passkeys;
        let is_unused = |passkey: &Passkey| passkey.used_at == passkey.created_at && passkey.created_at < before;
        let unused = passkeys.iter().filter(|(_, passkey)| is_unused(passkey)).map(|(id, _)| id.clone());
        let unused: Vec<_> = unused.take(limit).collect();
        passkeys.retain(|id, _| !unused.contains(id));
        Ok(unused.len())
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        let mut rows = self.rows.lock();
        users.iter().for_each(|user| rows.keep_relays(user, at));
        Ok(())
    }

    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let named = rows.user_relays.iter().map(|(user, (at, _))| (*at, *user.as_bytes()));
        let old = oldest(named, before, limit);
        for user in &old {
            let user = PublicKey::from_byte_array(*user);
            rows.user_relays.remove(&user);
            rows.user_signers.remove(&user);
        }
        Ok(old.len())
    }

    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let old = oldest(rows.inbound.iter().map(|(id, at)| (*at, *id)), before, limit);
        for id in &old {
            rows.inbound.remove(id);
        }
        Ok(old.len())
    }

    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let old = oldest(rows.kept.iter().map(|(key, (_, until))| (*until, *key)), before, limit);
        for key in &old {
            rows.kept.remove(key);
        }
        Ok(old.len())
    }
}
