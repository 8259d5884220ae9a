//! What happens after a commit: notifies the parts that act on a step, in an order that readers can rely on.

use std::sync::Arc;

use super::step::{Announced, Step};
use crate::event::{Event, NewEvent};
use crate::kernel::age_check_queue::AgeCheckQueue;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::index::Index;
use crate::kernel::invoice_watcher::InvoiceWatcher;
use crate::kernel::lightning_queue::LightningQueue;
use crate::kernel::metrics::Metrics;
use crate::kernel::outbox::Outbox;
use crate::kernel::signer_queue::SignerQueue;
use crate::kernel::ticket_queue::TicketQueue;
use crate::kernel::timers::{Alarm, Timers};
use crate::kernel::webhook_dispatcher::WebhookDispatcher;
use crate::login::browser_logins::BrowserLogins;
use crate::login::reusable_logins::ReusableLogins;
use crate::operations::Operation;
use crate::payment::spending_budget::SpendingBudget;
use crate::ports::{Head, OperationKind};
use crate::ticket::delivery::open_deliveries::OpenDeliveries;
use crate::{StreamId, UnixMillis};

/// The parts that act on committed steps.
pub(crate) struct AfterCommit {
    pub(crate) index: Arc<Index>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) budget: Arc<SpendingBudget>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) lightning: Arc<LightningQueue>,
    pub(crate) tickets: Arc<TicketQueue>,
    pub(crate) outgoing: Arc<OpenDeliveries>,
    pub(crate) age_checks: Arc<AgeCheckQueue>,
    pub(crate) signers: Arc<SignerQueue>,
    pub(crate) browser_logins: BrowserLogins,
    pub(crate) reusable_logins: ReusableLogins,
    pub(crate) webhooks: Arc<WebhookDispatcher>,
}

impl AfterCommit {
    /// Applies the effects of steps that were committed together. All of them are in the index before any reader is
    /// notified, so that a reader of an event about a subscription also finds the subscription.
    pub(super) fn apply_effects(&self, steps: Vec<Step>, heads: &[Head], now: UnixMillis) {
        let mut current = Vec::with_capacity(steps.len());
        for (step, head) in steps.iter().zip(heads) {
            self.count(step);
            self.update_budget(step, *head, now);
            self.update_public_logins(step, head.next_index, now);
            current.push(!step.finished && self.update_index(step, *head, now));
        }
        for (step, head) in steps.iter().zip(heads).filter(|(step, _)| step.finished) {
            self.finish(step, head.next_index, now);
        }
        for ((step, head), current) in steps.into_iter().zip(heads).zip(current) {
            let id = step.id;
            self.publish(id, head.next_index, &step.events, &[id], now);
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
            for memo in step.age_checks {
                self.age_checks.put(id, memo);
            }
            for call in step.signer_calls {
                self.signers.put(id, call);
            }
            if matches!(&step.operation, Operation::Login(login) if !login.state().is_open()) {
                // It waits for the app: no signer is asked any more.
                self.signers.end(id);
            }
            if step.looks_up {
                self.watcher.look_up_soon(id, now);
            }
        }
    }

    /// Events were committed to the reserved stream. Several operations append to it at the same time, and a later commit may
    /// arrive here first.
    pub(super) fn announce(&self, announced: Vec<Announced>, head: Head, now: UnixMillis) {
        let id = StreamId::SUBSCRIPTIONS;
        let (events, queues): (Vec<_>, Vec<_>) = announced.into_iter().map(|new| (new.event, new.queue)).unzip();
        self.index.change(id, |stream| stream.next_index = stream.next_index.max(head.next_index));
        self.metrics.events(&events);
        self.publish(id, head.next_index, &events, &queues, now);
    }

    fn publish(&self, id: StreamId, next_index: u64, events: &[NewEvent], queues: &[StreamId], now: UnixMillis) {
        if events.is_empty() {
            return;
        }
        self.feed.publish(id, next_index, events);
        for queue in queues {
            self.webhooks.deliver_soon(*queue, now);
        }
    }

    fn update_budget(&self, step: &Step, head: Head, now: UnixMillis) {
        let Some(spending) = step.operation.spending() else { return };
        self.budget.update(step.id, head.revision, &spending, now);
        // The step that reports the payment, and no later one.
        if let Some(fee) = spending.fees_paid.filter(|fee| *fee > spending.fees_allowed && !step.events.is_empty()) {
            tracing::warn!(
                stream_id = %step.id,
                amount = spending.amount,
                fee,
                largest_allowed_fee = spending.fees_allowed,
                "the Lightning backend paid a higher fee than wallet.max_fee_percent allows: limit fees in its own settings"
            );
        }
    }

    fn update_public_logins(&self, step: &Step, next_index: u64, now: UnixMillis) {
        let Operation::Login(login) = &step.operation else { return };
        if let Some(reusable) = login.reusable() {
            if !step.finished {
                // Under the index's lock: not after a later commit has finished it.
                self.index.change(step.id, |_| self.reusable_logins.stepped(step.id, reusable, login, step.is_new));
            }
        } else if step.is_new && login.is_unused() {
            self.browser_logins.add(step.id);
        } else if step.finished && next_index == 0 {
            self.browser_logins.end(step.id, now);
        } else if !login.is_unused() {
            self.browser_logins.remove(step.id);
        }
    }

    fn count(&self, step: &Step) {
        let kind = step.operation.kind();
        if step.is_new {
            self.metrics.started(kind);
        }
        // One that is not in the index any more was finished, and counted, by a later commit that arrived here first.
        let was_done = self.index.get(step.id).is_none_or(|stream| stream.done);
        if !was_done && (step.finished || step.operation.is_done()) {
            let outcome = step.events.last().map_or_else(|| step.operation.silent_outcome(), |event| event.outcome);
            self.metrics.finished(kind, outcome);
        }
        self.metrics.events(&step.events);
    }

    fn finish(&self, step: &Step, next_index: u64, now: UnixMillis) {
        let (id, events) = (step.id, &step.events);
        if !events.is_empty() && next_index == events.len() as u64 {
            // All of the stream's events are of this step.
            let whole: Vec<Event> = (0..).zip(events).map(|(index, event)| event.clone().at_index(index)).collect();
            self.feed.keep_finished(id, &whole);
        }
        let removed = self.index.remove(id, &step.operation.correlations());
        if let Operation::Login(login) = &step.operation
            && let Some(reusable) = login.reusable()
        {
            self.reusable_logins.ended(id, reusable, login, now);
        }
        // After its removal from the index: code that begins to watch an invoice checks the index last.
        self.watcher.unwatch(id);
        if matches!(step.operation.kind(), OperationKind::Login | OperationKind::Authentication) {
            self.signers.end(id);
        }
        if events.is_empty() {
            self.feed.end(id);
        }
        if step.operation.kind() == OperationKind::TicketDelivery {
            self.outgoing.remove(id);
        }
        if let Some(stream) = removed {
            if let Some(at) = stream.wake_at {
                self.timers.cancel(at, id, Alarm::Wake);
            }
            if let Some(at) = stream.resend_at {
                self.timers.cancel(at, id, Alarm::Resend);
            }
        }
    }
}
