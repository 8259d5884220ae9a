//! Notifies the parts that act on a committed step, in a defined order.

use std::sync::Arc;

use super::step::{Announced, Step};
use crate::event::{Event, NewEvent};
use crate::kernel::age_check_queue::AgeCheckQueue;
use crate::kernel::core::Core;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::invoice_watcher::InvoiceWatcher;
use crate::kernel::lightning_queue::LightningQueue;
use crate::kernel::observer::{CommittedStep, Observer};
use crate::kernel::outbox::Outbox;
use crate::kernel::remote_signer_queue::SignerQueue;
use crate::kernel::ticket_queue::TicketQueue;
use crate::kernel::timers::TimerKind;
use crate::kernel::webhook_dispatcher::WebhookDispatcher;
use crate::ports::{OperationHead, Version};
use crate::{Origin, StreamId, UnixMillis};

pub(crate) struct EffectDispatcher {
    pub(crate) core: Core,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) lightning: Arc<LightningQueue>,
    pub(crate) tickets: Arc<TicketQueue>,
    pub(crate) age_checks: Arc<AgeCheckQueue>,
    pub(crate) signers: Arc<SignerQueue>,
    pub(crate) webhooks: Arc<WebhookDispatcher>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

impl EffectDispatcher {
    /// Applies the effects of steps committed together. All of them are in the index before readers are notified, so
    /// that a reader of an event about a subscription also finds the subscription.
    pub(super) fn dispatch(&self, steps: Vec<Step>, heads: &[OperationHead], now: UnixMillis) {
        let mut current = Vec::with_capacity(steps.len());
        for (step, head) in steps.iter().zip(heads) {
            self.count(step);
            for observer in &self.observers {
                observer.committed(&committed(step, *head, now));
            }
            current.push(!step.finished && self.update_index(step, *head));
        }
        for (step, head) in steps.iter().zip(heads).filter(|(step, _)| step.finished) {
            self.finish(step, *head, now);
        }
        for ((step, head), current) in steps.into_iter().zip(heads).zip(current) {
            let id = step.id;
            self.publish(id, step.origin, head.next_index, &step.events, &[id]);
            if step.events.is_empty() && step.operation.is_done() {
                self.feed.end(id);
            }
            let sends = current && step.sends();
            for user in step.unstored_relays {
                self.outbox.remember_user(user);
            }
            if sends {
                self.outbox.send(id, step.messages.into_iter().chain(step.added).collect());
            }
            for message in &step.sent_once {
                self.outbox.send_once(message);
            }
            let unattended = step.operation.is_unattended();
            for call in step.calls {
                self.lightning.put(id, call, unattended);
            }
            for call in step.ticket_calls {
                self.tickets.put(id, call);
            }
            for pending in step.age_checks {
                self.age_checks.put(id, pending);
            }
            for call in step.signer_calls {
                self.signers.put(id, call);
            }
            if step.finished || !step.operation.waits_for_signer() {
                self.signers.end(id);
            }
            if step.looks_up {
                self.watcher.look_up_soon(id);
            }
            if current {
                let version = Version { revision: head.revision, origin: step.origin };
                self.core.recent_states.put(id, version, step.operation);
            }
        }
    }

    /// Announces events of the reserved stream. A later commit may be announced first.
    pub(super) fn announce(&self, announced: Vec<Announced>, head: OperationHead) {
        let id = StreamId::SUBSCRIPTIONS;
        let (events, queues): (Vec<_>, Vec<_>) = announced.into_iter().map(|new| (new.event, new.queue)).unzip();
        self.core.index.change(id, |stream| stream.next_index = stream.next_index.max(head.next_index));
        self.core.metrics.events(&events);
        self.publish(id, None, head.next_index, &events, &queues);
    }

    fn publish(&self, id: StreamId, origin: Option<Origin>, next_index: u64, events: &[NewEvent], queues: &[StreamId]) {
        if events.is_empty() {
            return;
        }
        self.feed.publish(id, origin, next_index, events);
        for queue in queues {
            self.webhooks.deliver_soon(*queue);
        }
    }

    fn count(&self, step: &Step) {
        let kind = step.operation.kind();
        if step.is_new {
            self.core.metrics.started(kind);
        }
        // If it is not in the index, a later commit finished and counted it.
        let was_done = self.core.index.get(step.id).is_none_or(|stream| stream.done);
        if !was_done && (step.finished || step.operation.is_done()) {
            let outcome = step.events.last().map_or_else(|| step.operation.silent_outcome(), |event| event.outcome);
            self.core.metrics.finished(kind, outcome);
        }
        self.core.metrics.events(&step.events);
    }

    fn finish(&self, step: &Step, head: OperationHead, now: UnixMillis) {
        let (id, events) = (step.id, &step.events);
        if !events.is_empty() && head.next_index == events.len() as u64 {
            // This step emitted all events of the stream.
            let whole: Vec<Event> = (0..).zip(events).map(|(index, event)| event.clone().at_index(index)).collect();
            self.feed.keep_finished(id, &whole);
        }
        let removed = self.core.index.remove(id, &step.operation.correlations());
        for observer in &self.observers {
            observer.finished(&committed(step, head, now));
        }
        // After its removal from the index, which code that starts watching an invoice checks last.
        self.watcher.unwatch(id);
        if events.is_empty() {
            self.feed.end(id);
        }
        if let Some(stream) = removed {
            if let Some(wake) = stream.wake {
                self.core.timers.cancel(wake.due, id, TimerKind::Wake);
            }
            if let Some(at) = stream.resend_at {
                self.core.timers.cancel(at, id, TimerKind::Resend);
            }
        }
    }
}

const fn committed(step: &Step, head: OperationHead, now: UnixMillis) -> CommittedStep<'_> {
    CommittedStep {
        id: step.id,
        origin: step.origin,
        operation: &step.operation,
        is_new: step.is_new,
        is_finished: step.finished,
        has_events: !step.events.is_empty(),
        head,
        now,
    }
}
