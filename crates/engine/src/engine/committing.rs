//! Commits: what an operation's step wants becomes one transaction, and takes place when it is durable.
//!
//! A step may begin another operation, or say something to one: then their changes are in the same transaction.

use std::collections::VecDeque;

use super::Engine;
use super::steps::Cause;
use super::timers::Alarm;
use crate::event::{Event, NewEvent};
use crate::operations::{Effect, Input, Note, Operation, Outcome, WalletCall};
use crate::ports::{
    AllCommitted, Commit, Conflict, CorrelationKey, Head, OperationKind, OutboxChange, OutboxMessage, Revision, State,
    StoreError,
};
use crate::{StreamId, UnixMillis};

/// What becomes of one operation.
pub(super) struct Change {
    pub(super) id: StreamId,
    /// As it is after the step.
    pub(super) operation: Operation,
    pub(super) effects: Vec<Effect>,
    pub(super) expected: Revision,
    /// Correlation keys it had not before.
    pub(super) claims: Vec<CorrelationKey>,
}

impl Change {
    /// A new operation.
    pub(super) fn start(id: StreamId, operation: Operation, effects: Vec<Effect>) -> Self {
        let claims = operation.correlations();
        Self { id, operation, effects, expected: Revision::New, claims }
    }
}

/// Adds the effects of a later input to those of an earlier one.
pub(super) fn append(effects: &mut Vec<Effect>, more: Vec<Effect>) {
    let is_outbox = |effect: &Effect| matches!(effect, Effect::Send(_) | Effect::Silence);
    if more.iter().any(is_outbox) {
        // What is sent takes the place of what would have been.
        effects.retain(|effect| !is_outbox(effect));
    }
    effects.extend(more);
}

/// What takes place after a commit, of one operation.
struct After {
    id: StreamId,
    operation: Operation,
    is_new: bool,
    events: Vec<NewEvent>,
    messages: Vec<OutboxMessage>,
    silent: bool,
    finished: bool,
    claims: Vec<CorrelationKey>,
    calls: Vec<WalletCall>,
    look_up: bool,
}

impl Engine {
    /// Commits a step, and when it is durable lets its effects take place; says what it conflicts with, if it does.
    pub(super) async fn commit(
        &self,
        change: Change,
        now: UnixMillis,
        cause: Cause,
    ) -> Result<Option<Conflict>, StoreError> {
        let (inbound, answer) = match cause {
            Cause::Call(answer) => (Vec::new(), answer),
            Cause::Inputs(events) => (events, None),
        };
        let mut changes = VecDeque::from([change]);
        let (mut commits, mut afters, mut announced) = (Vec::new(), Vec::<After>::new(), Vec::new());
        let mut notes = Vec::new();
        loop {
            let Some(change) = changes.pop_front() else {
                if notes.is_empty() {
                    break;
                }
                changes.extend(self.told(std::mem::take(&mut notes), now).await?);
                continue;
            };
            let Change { id, operation, effects, expected, claims } = change;
            let mut after = After {
                id,
                operation,
                is_new: expected == Revision::New,
                events: Vec::new(),
                messages: Vec::new(),
                silent: false,
                finished: false,
                claims,
                calls: Vec::new(),
                look_up: false,
            };
            let mut user_relays = Vec::new();
            for effect in effects {
                match effect {
                    Effect::Emit(event) => after.events.push(event),
                    Effect::Send(message) => after.messages.push(message),
                    Effect::RememberRelays(relays) => user_relays.push(relays),
                    Effect::Silence => after.silent = true,
                    Effect::Ask(call) => after.calls.push(call),
                    Effect::LookUp => after.look_up = true,
                    Effect::Announce(event) => announced.push(event),
                    Effect::Start(operation, effects) => {
                        changes.push_back(Change::start(self.new_stream_id(), *operation, effects));
                    }
                    Effect::Tell(key, note) => notes.push((key, note)),
                    Effect::Finish => after.finished = true,
                }
            }
            commits.push(self.commit_of(&after, expected, user_relays, now)?);
            afters.push(after);
        }
        if let Some(first) = commits.first_mut() {
            first.inbound = inbound;
            first.answer = answer;
        }
        if !announced.is_empty() {
            commits.push(self.announcement(announced.clone(), now));
        }
        let users: Vec<_> =
            commits.iter().flat_map(|commit| &commit.user_relays).map(|relays| relays.main_key).collect();
        let heads = match self.store.commit_all(commits).await? {
            AllCommitted::Done(heads) => heads,
            AllCommitted::Conflict(conflict) => return Ok(Some(conflict)),
        };
        for user in users {
            self.outgoing.forget_user(&user);
        }
        if let Some(head) = heads.get(afters.len()) {
            self.announce(&announced, *head, now);
        }
        for (after, head) in afters.into_iter().zip(heads) {
            self.take_place(after, head, now);
        }
        Ok(None)
    }

    /// The changes of operations that are told something, each operation once; those that are not there do not care.
    async fn told(&self, notes: Vec<(CorrelationKey, Note)>, now: UnixMillis) -> Result<Vec<Change>, StoreError> {
        let mut changes: Vec<Change> = Vec::new();
        for (key, note) in notes {
            let Some(id) = self.index.find(key) else { continue };
            let change = match changes.iter_mut().position(|change| change.id == id) {
                Some(known) => known,
                None => {
                    let Some(stored) = self.store.operation(id).await? else { continue };
                    let operation = Operation::from_state(&stored.state)
                        .map_err(|_| StoreError::Unreadable("an operation's state"))?;
                    let expected = Revision::At(stored.revision);
                    changes.push(Change { id, operation, effects: Vec::new(), expected, claims: Vec::new() });
                    changes.len() - 1
                }
            };
            if let Some(change) = changes.get_mut(change)
                && let Outcome::Stepped(effects) = change.operation.step(&Input::Note(note), now)
            {
                append(&mut change.effects, effects);
            }
        }
        Ok(changes)
    }

    fn commit_of(
        &self,
        after: &After,
        expected: Revision,
        user_relays: Vec<crate::ports::UserRelays>,
        now: UnixMillis,
    ) -> Result<Commit, StoreError> {
        let operation = &after.operation;
        let outbox = if after.messages.is_empty() && !after.silent {
            OutboxChange::Keep
        } else {
            OutboxChange::Replace(after.messages.clone())
        };
        Ok(Commit {
            operation: after.id,
            kind: operation.kind(),
            expected,
            at: now,
            state: operation.to_state().map_err(|_| StoreError::Unreadable("an operation's state"))?,
            finished: after.finished,
            done: after.finished || operation.is_done(),
            watched: operation.watched(),
            wake_at: operation.wake_at(),
            claims: after.claims.clone(),
            events: after.events.clone(),
            outbox,
            inbound: Vec::new(),
            user_relays,
            deliver: self.deliveries.is_on(),
            answer: None,
        })
    }

    /// Events on the reserved stream.
    fn announcement(&self, events: Vec<NewEvent>, now: UnixMillis) -> Commit {
        Commit {
            operation: StreamId::SUBSCRIPTIONS,
            kind: OperationKind::Subscriptions,
            expected: Revision::Any,
            at: now,
            state: State("{}".to_owned()),
            finished: false,
            done: false,
            watched: None,
            wake_at: None,
            claims: Vec::new(),
            events,
            outbox: OutboxChange::Keep,
            inbound: Vec::new(),
            user_relays: Vec::new(),
            deliver: self.deliveries.is_on(),
            answer: None,
        }
    }

    /// Several operations announce at the same time, and what was committed later may come here earlier.
    fn announce(&self, events: &[NewEvent], head: Head, now: UnixMillis) {
        let id = StreamId::SUBSCRIPTIONS;
        self.index.change(id, false, |stream| stream.next_index = stream.next_index.max(head.next_index));
        self.counts.events(events);
        self.tell_readers(id, head.next_index, events, now);
    }

    fn take_place(&self, after: After, head: Head, now: UnixMillis) {
        self.count(&after);
        let (id, next_index) = (after.id, head.next_index);
        if after.finished {
            self.finish(&after, next_index);
        } else {
            self.go_on(&after, head, now);
        }
        self.tell_readers(id, next_index, &after.events, now);
        let unattended = after.operation.is_unattended();
        for call in after.calls {
            self.ask(id, call, unattended);
        }
        if after.look_up {
            self.look_up_soon(id, now);
        }
    }

    fn tell_readers(&self, id: StreamId, next_index: u64, events: &[NewEvent], now: UnixMillis) {
        if !events.is_empty() {
            self.waiters.wake(id);
            self.feed.show(id, next_index, events);
            self.deliver_soon(id, now);
        }
    }

    fn count(&self, after: &After) {
        let kind = after.operation.kind();
        if after.is_new {
            self.counts.started(kind);
        }
        let was_done = self.index.get(after.id).is_some_and(|stream| stream.done);
        if !was_done && (after.finished || after.operation.is_done()) {
            self.counts.finished(kind, &after.events);
        }
        self.counts.events(&after.events);
    }

    fn finish(&self, after: &After, next_index: u64) {
        let (id, events) = (after.id, &after.events);
        if next_index == events.len() as u64 {
            // All of the stream's events are of this step.
            let whole: Vec<Event> = (0..).zip(events).map(|(index, event)| event.clone().at_index(index)).collect();
            self.finished.put(id, &whole);
        }
        self.unwatch(id);
        if let Some(stream) = self.index.remove(id, &after.operation.correlations()) {
            if let Some(at) = stream.wake_at {
                self.timers.cancel(at, id, Alarm::Wake);
            }
            if let Some(at) = stream.resend_at {
                self.timers.cancel(at, id, Alarm::Resend);
            }
        }
    }

    fn go_on(&self, after: &After, head: Head, now: UnixMillis) {
        let (id, operation) = (after.id, &after.operation);
        let sends = !after.messages.is_empty();
        let again = sends.then(|| now.plus(self.repeated_after(operation.is_unattended())));
        let mut is_latest = true;
        let changed = self.index.change(id, after.is_new, |stream| {
            // Another operation's step may have changed this one too: the later commit counts, whoever comes here first.
            is_latest = head.revision > stream.revision;
            if !is_latest {
                // What it wants to send is in the outbox still, unless the later one has put something in its place.
                if sends && stream.resend_at.is_none() {
                    stream.attempts = 1;
                    stream.resend_at = again;
                }
                return;
            }
            stream.revision = head.revision;
            stream.next_index = head.next_index;
            stream.stepped_at = now;
            stream.wake_at = operation.wake_at();
            stream.done = operation.is_done();
            if sends || after.silent {
                stream.attempts = u8::from(sends);
                stream.resend_at = again;
            }
        });
        let Some((before, stream)) = changed else { return };
        if before.wake_at != stream.wake_at {
            if let Some(at) = before.wake_at {
                self.timers.cancel(at, id, Alarm::Wake);
            }
            if let Some(at) = stream.wake_at {
                self.timers.set(at, id, Alarm::Wake);
            }
        }
        if before.resend_at != stream.resend_at {
            if let Some(at) = before.resend_at {
                self.timers.cancel(at, id, Alarm::Resend);
            }
            if let Some(at) = stream.resend_at {
                self.timers.set(at, id, Alarm::Resend);
            }
        }
        for key in &after.claims {
            self.index.claim(*key, id);
        }
        if !is_latest {
            return;
        }
        match operation.watched() {
            Some(hash) => self.watch(id, hash, now),
            None => self.unwatch(id),
        }
        // Last: the task that sends asks the index whether the operation is still open.
        if sends {
            self.outgoing.send(id, after.messages.clone());
        }
    }
}
