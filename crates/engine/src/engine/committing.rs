//! Commits: what an operation's step wants becomes one transaction, and takes place when it is durable.
//!
//! A step may begin another operation, or say something to one: then their changes are in the same transaction. Whom a note
//! is for is read from the store, never from memory: an operation knows of another by its own state, which was committed no
//! earlier than the other operation was. Memory may lag behind both.

mod gather;

use super::Engine;
use super::outgoing::MANY;
use super::steps::Cause;
use super::timers::Alarm;
use crate::event::{Event, NewEvent};
use crate::operations::{Effect, Operation, WalletCall};
use crate::ports::{
    AllCommitted, Commit, Conflict, CorrelationKey, Head, OperationKind, OutboxChange, OutboxMessage, Revision, State,
    StoreError, UserRelays,
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
    let replaces = |effect: &Effect| matches!(effect, Effect::Send(_) | Effect::Silence);
    let is_outbox = |effect: &Effect| replaces(effect) || matches!(effect, Effect::SendAlso(_) | Effect::Pause(_));
    if more.iter().any(replaces) {
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
    /// Sent beside what is being sent.
    added: Vec<OutboxMessage>,
    /// What is being sent is not repeated before this time.
    paused: Option<UnixMillis>,
    silent: bool,
    finished: bool,
    claims: Vec<CorrelationKey>,
    calls: Vec<WalletCall>,
    look_up: bool,
}

impl After {
    /// When the user has answered, a device that cannot read the question is not asked it.
    const fn sends(&self) -> bool {
        !self.messages.is_empty() || (!self.added.is_empty() && self.paused.is_none())
    }

    fn outbox_change(&self) -> OutboxChange {
        match self.paused {
            _ if self.silent || !self.messages.is_empty() => {
                OutboxChange::Replace(self.messages.iter().chain(&self.added).cloned().collect())
            }
            Some(until) => OutboxChange::Pause(until),
            None if self.added.is_empty() => OutboxChange::Keep,
            None => OutboxChange::Add(self.added.clone()),
        }
    }
}

impl Engine {
    /// Commits a step, and when it is durable lets its effects take place; says what it conflicts with, if it does.
    pub(super) async fn commit(
        &self,
        change: Change,
        now: UnixMillis,
        cause: Cause,
    ) -> Result<Option<Conflict>, StoreError> {
        self.commit_all(vec![change], now, cause).await
    }

    /// Commits steps of several operations, each another one, that belong together.
    pub(super) async fn commit_all(
        &self,
        changes: Vec<Change>,
        now: UnixMillis,
        cause: Cause,
    ) -> Result<Option<Conflict>, StoreError> {
        let (inbound, answer) = match cause {
            Cause::Call(answer) => (Vec::new(), answer),
            Cause::Inputs(events) => (events, None),
        };
        let (mut commits, mut afters, mut announced) = (Vec::new(), Vec::new(), Vec::new());
        for change in self.gather(changes, now).await? {
            let expected = change.expected;
            let (after, user_relays, announces) = After::of(change, now);
            commits.push(self.commit_of(&after, expected, user_relays, now)?);
            announced.extend(announces);
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
        // Others may find a new operation in the store, step it, even finish it, before this one gets to its place.
        let reserved = self.index.reserve(afters.iter().filter(|after| after.is_new).map(|after| after.id).collect());
        let heads = match self.store.commit_all(commits).await? {
            AllCommitted::Done(heads) => heads,
            AllCommitted::Conflict(conflict) => return Ok(Some(conflict)),
        };
        reserved.keep();
        for user in users {
            self.outgoing.forget_user(&user);
        }
        let announcement = heads.get(afters.len()).copied();
        self.take_place(afters, &heads, now);
        if let Some(head) = announcement {
            self.announce(&announced, head, now);
        }
        Ok(None)
    }

    fn commit_of(
        &self,
        after: &After,
        expected: Revision,
        user_relays: Vec<UserRelays>,
        now: UnixMillis,
    ) -> Result<Commit, StoreError> {
        let operation = &after.operation;
        let outbox = after.outbox_change();
        Ok(Commit {
            operation: after.id,
            kind: operation.kind(),
            expected,
            at: now,
            state: operation.to_state().map_err(|_| StoreError::Unreadable("an operation's state"))?,
            finished: after.finished,
            kept: if after.finished { operation.kept_correlations() } else { Vec::new() },
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
            kept: Vec::new(),
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
        self.index.change(id, |stream| stream.next_index = stream.next_index.max(head.next_index));
        self.counts.events(events);
        self.tell_readers(id, head.next_index, events, now);
    }

    /// First all of them are in the index, then readers hear of them: who reads of a subscription finds it.
    fn take_place(&self, afters: Vec<After>, heads: &[Head], now: UnixMillis) {
        let mut current = Vec::with_capacity(afters.len());
        for (after, head) in afters.iter().zip(heads) {
            self.count(after);
            current.push(!after.finished && self.go_on(after, *head, now));
        }
        for (after, head) in afters.iter().zip(heads).filter(|(after, _)| after.finished) {
            self.finish(after, head.next_index);
        }
        for ((after, head), current) in afters.into_iter().zip(heads).zip(current) {
            let id = after.id;
            self.tell_readers(id, head.next_index, &after.events, now);
            if current && after.sends() {
                self.outgoing.send(id, after.messages.into_iter().chain(after.added).collect());
            }
            let unattended = after.operation.is_unattended();
            for call in after.calls {
                self.ask(id, call, unattended);
            }
            if after.look_up {
                self.look_up_soon(id, now);
            }
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
        // What is not there any more has been finished, and counted, by a later commit that came here earlier.
        let was_done = self.index.get(after.id).is_none_or(|stream| stream.done);
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
        let removed = self.index.remove(id, &after.operation.correlations());
        // After it is out of the index: whoever begins to watch it looks there last.
        self.unwatch(id);
        if let Some(stream) = removed {
            if let Some(at) = stream.wake_at {
                self.timers.cancel(at, id, Alarm::Wake);
            }
            if let Some(at) = stream.resend_at {
                self.timers.cancel(at, id, Alarm::Resend);
            }
        }
    }

    /// Puts the operation into the index as it is now, with its timers; says whether this is its latest commit so far.
    fn go_on(&self, after: &After, head: Head, now: UnixMillis) -> bool {
        let (id, operation) = (after.id, &after.operation);
        let (sends, paused) = (after.sends(), after.paused.filter(|_| !after.sends()));
        let again = sends.then(|| now.plus(self.repeated_after(operation.is_unattended())));
        let mut is_latest = true;
        let there = self.index.change(id, |stream| {
            let before = *stream;
            // Another operation's step may have changed this one too: the later commit counts, whoever comes here first.
            is_latest = head.revision > stream.revision;
            if is_latest {
                stream.revision = head.revision;
                stream.next_index = head.next_index;
                stream.stepped_at = now;
                stream.wake_at = operation.wake_at();
                stream.done = operation.is_done();
                if sends || after.silent {
                    stream.attempts = u8::from(sends);
                    stream.resend_at = again;
                } else if paused.is_some() && stream.resend_at.is_some() {
                    // Rarely after it.
                    (stream.resend_at, stream.attempts) = (paused, MANY);
                }
            } else if sends && stream.resend_at.is_none() {
                // What it wants to send is in the outbox still, unless the later one has put something in its place.
                stream.attempts = 1;
                stream.resend_at = again;
            }
            // Under the index's lock, so that of two commits the later sets the timers last.
            self.set_timers(id, (before.wake_at, stream.wake_at), Alarm::Wake);
            self.set_timers(id, (before.resend_at, stream.resend_at), Alarm::Resend);
            for key in &after.claims {
                self.index.claim(*key, id);
            }
        });
        if !there {
            // Finished by a later commit that came here earlier.
            return false;
        }
        if let Some(keys) = operation.may_close_early() {
            self.index.parties.set(id, keys);
        }
        if is_latest {
            match operation.watched() {
                Some(hash) => self.watch(id, hash, !operation.is_unattended(), now),
                None => self.unwatch(id),
            }
        }
        is_latest
    }

    fn set_timers(&self, id: StreamId, (before, after): (Option<UnixMillis>, Option<UnixMillis>), alarm: Alarm) {
        if before == after {
            return;
        }
        if let Some(at) = before {
            self.timers.cancel(at, id, alarm);
        }
        if let Some(at) = after {
            self.timers.set(at, id, alarm);
        }
    }
}

impl After {
    /// With the relays of users to be remembered, and what is announced on the reserved stream.
    fn of(change: Change, now: UnixMillis) -> (Self, Vec<UserRelays>, Vec<NewEvent>) {
        let Change { id, operation, effects, expected, claims } = change;
        let mut after = Self {
            id,
            operation,
            is_new: expected == Revision::New,
            events: Vec::new(),
            messages: Vec::new(),
            added: Vec::new(),
            paused: None,
            silent: false,
            finished: false,
            claims,
            calls: Vec::new(),
            look_up: false,
        };
        let (mut user_relays, mut announced) = (Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Emit(event) => after.events.push(event),
                Effect::Send(message) => after.messages.push(OutboxMessage { made_at: now, ..message }),
                Effect::SendAlso(message) => after.added.push(OutboxMessage { made_at: now, ..message }),
                Effect::Pause(until) => after.paused = Some(until),
                Effect::RememberRelays(relays) => user_relays.push(relays),
                Effect::Silence => after.silent = true,
                Effect::Ask(call) => after.calls.push(call),
                Effect::LookUp => after.look_up = true,
                Effect::Announce(event) => announced.push(event),
                Effect::Finish => after.finished = true,
                // Gathered before.
                Effect::Start(..) | Effect::Tell(..) => {}
            }
        }
        (after, user_relays, announced)
    }
}
