//! Commits: the result of an operation's step becomes one store transaction; its effects are applied after the commit.
//!
//! ```text
//! changes ─▶ change_collector ─▶ one transaction ─▶ effect_dispatcher ─▶ index, timers, event feed, outbox, invoice watcher,
//!            (what they start, and                                    Lightning queue, ticket queue, webhook dispatcher
//!             the signals they send)
//! ```
//!
//! A step may start another operation, or send it a signal: both changes are then in the same transaction. The
//! recipient of a signal is read from the store, because memory may lag behind. Only the open logins of a reusable
//! login are known only in memory, so a commit adds to them before it is stored (`Observer::committing`).

mod change;
mod change_collector;
mod effect_dispatcher;
mod modify;
mod step;
mod update_index;

use std::sync::Arc;

use usher_protocol::EventId;

pub(crate) use self::change::{Change, append};
use self::change_collector::ChangeCollector;
pub(crate) use self::effect_dispatcher::EffectDispatcher;
pub(crate) use self::modify::{Modified, Stored};
use self::step::{Announced, Step};
use crate::kernel::core::Core;
use crate::kernel::observer::LinkedChanges;
use crate::kernel::pending_audit::PendingAudit;
use crate::ports::{
    AllCommitted, Commit, Conflict, NewIdempotencyRecord, OperationKind, Revision, State, StoreError, UserRelays,
};
use crate::{StreamId, UnixMillis};

pub(crate) enum Cause {
    Request(Option<NewIdempotencyRecord>),
    /// Messages from wallets, by their Nostr events; empty for a timer or the Lightning backend.
    Inputs(Vec<EventId>),
}

pub(crate) struct Committer {
    core: Core,
    collector: ChangeCollector,
    dispatcher: EffectDispatcher,
}

impl Committer {
    pub(crate) fn new(core: Core, linked_changes: Arc<dyn LinkedChanges>, dispatcher: EffectDispatcher) -> Self {
        Self { collector: ChangeCollector { core: core.clone(), linked_changes }, core, dispatcher }
    }

    /// Commits a step, and applies its effects once it is durable; returns the conflict, if any.
    pub(crate) async fn commit(
        &self,
        change: Change,
        now: UnixMillis,
        cause: Cause,
    ) -> Result<Option<Conflict>, StoreError> {
        self.commit_all(vec![change], now, cause).await
    }

    pub(crate) async fn commit_all(
        &self,
        changes: Vec<Change>,
        now: UnixMillis,
        cause: Cause,
    ) -> Result<Option<Conflict>, StoreError> {
        let (inbound, record, request) = match cause {
            Cause::Request(record) => (Vec::new(), record, PendingAudit::current()),
            Cause::Inputs(events) => (events, None, None),
        };
        let audit = request.as_ref().and_then(|request| request.take());
        let on = self.core.timers.now();
        let changes = self.collector.collect(changes, now).await?;
        let (mut commits, mut steps) = (Vec::with_capacity(changes.len() + 1), Vec::with_capacity(changes.len()));
        let mut announced = Vec::new();
        for change in changes {
            let expected = change.expected;
            let (step, user_relays, announces) = Step::of(change, now, on);
            commits.push(self.commit_of(&step, expected, user_relays)?);
            announced.extend(announces);
            steps.push(step);
        }
        if let Some(first) = commits.first_mut() {
            first.inbound = inbound;
            first.idempotency_record = record;
            first.audit = audit.clone().map(|entry| entry.about(first));
        }
        if !announced.is_empty() {
            commits.push(self.announcement(&announced, now));
        }
        let named = commits.iter().flat_map(|commit| commit.user_relays.iter().cloned());
        let relays = self.dispatcher.outbox.begin_changes(named);
        // Before the commit: afterwards others may find a new operation in the store, step it, and even finish it.
        let open: Vec<_> = steps.iter().filter(|step| !step.finished).map(|step| (step.id, &step.operation)).collect();
        let committing: Vec<_> =
            self.dispatcher.observers.iter().filter_map(|observer| observer.committing(&open)).collect();
        let reserved = self.core.index.reserve(steps.iter().filter(|step| step.is_new).map(|step| step.id).collect());
        let _shown = self.dispatcher.feed.begin_commit();
        let heads = match self.core.store.commit_all(commits).await? {
            AllCommitted::Done(heads) => heads,
            AllCommitted::Conflict(conflict) => {
                if let (Some(request), Some(entry)) = (request, audit) {
                    request.set(entry);
                }
                return Ok(Some(conflict));
            }
        };
        reserved.keep();
        relays.done();
        let announcement = heads.get(steps.len()).copied();
        self.dispatcher.dispatch(steps, &heads, now);
        drop(committing);
        if let Some(head) = announcement {
            self.dispatcher.announce(announced, head);
        }
        Ok(None)
    }

    fn commit_of(&self, step: &Step, expected: Revision, user_relays: Vec<UserRelays>) -> Result<Commit, StoreError> {
        let operation = &step.operation;
        Ok(Commit {
            operation: step.id,
            kind: operation.kind(),
            origin: step.origin,
            expected,
            at: step.at,
            state: operation.to_state().map_err(|_| StoreError::Unexpected("an operation cannot be written"))?,
            finished: step.finished,
            kept: if step.finished { operation.kept_correlations() } else { Vec::new() },
            done: step.finished || operation.is_done(),
            watched: operation.watched(),
            wake_at: operation.wake_at(),
            claims: step.claims.clone(),
            random_keys: operation.has_random_keys(),
            events: step.events.clone(),
            outbox: step.outbox_change(),
            inbound: Vec::new(),
            user_relays,
            user_signers: step.user_signers.clone(),
            passkeys: step.passkeys.clone(),
            payment_record: operation.payment_record(),
            login_record: step.login_record.clone(),
            deliver: self.dispatcher.webhooks.is_on(),
            delivery_queues: Vec::new(),
            idempotency_record: None,
            audit: None,
        })
    }

    fn announcement(&self, announced: &[Announced], now: UnixMillis) -> Commit {
        let (operation, kind) = (StreamId::SUBSCRIPTIONS, OperationKind::Subscriptions);
        Commit {
            events: announced.iter().map(|announced| announced.event.clone()).collect(),
            deliver: self.dispatcher.webhooks.is_on(),
            delivery_queues: announced.iter().map(|announced| announced.queue).collect(),
            ..Commit::of(operation, kind, Revision::Any, now, State("{}".to_owned()))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
