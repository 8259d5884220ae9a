//! Restores the index and the timers from the store at the start.

use std::sync::Arc;

use super::damaged_rows::Damage;
use super::index::Index;
use super::invoice_watcher::InvoiceWatcher;
use super::metrics::Metrics;
use super::outbox::Outbox;
use super::timers::{Alarm, Timers};
use crate::login::key_handshake::reusable::ReusableHandshakes;
use crate::login::reusable_logins::ReusableLogins;
use crate::operations::Operation;
use crate::payment::spending_budget::SpendingBudget;
use crate::ports::{OpenOperation, OperationKind, Store, StoreError, Table};
use crate::ticket::delivery::open_deliveries::OpenDeliveries;
use crate::{StreamId, UnixMillis};

/// Operations read from the store at a time.
const PAGE: usize = 10_000;

/// What is restored.
pub(crate) struct Restorer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) damage: Arc<Damage>,
    pub(crate) index: Arc<Index>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) reusable_handshakes: Arc<ReusableHandshakes>,
    pub(crate) reusable_logins: ReusableLogins,
    pub(crate) budget: Arc<SpendingBudget>,
    pub(crate) outgoing: Arc<OpenDeliveries>,
    pub(crate) metrics: Arc<Metrics>,
}

/// What the start needs to know of the stored operations.
#[derive(Default)]
pub(crate) struct Restored {
    /// Operations that may have been waiting for the Lightning backend, the ticket wallet or a remote signer.
    pub(crate) waiting: Vec<StreamId>,
    /// When an open operation was last committed.
    pub(crate) latest: UnixMillis,
    /// How many operations have messages to send.
    sending: u64,
}

impl Restorer {
    /// Restores every open operation of this instance.
    pub(crate) async fn restore(&self, now: UnixMillis) -> Result<Restored, StoreError> {
        let mut restored = Restored::default();
        let mut after = None;
        loop {
            let open = self.store.open_operations(after, PAGE).await?;
            for operation in &open {
                self.restore_one(operation, now, &mut restored).await?;
            }
            match open.last() {
                Some(last) if open.len() == PAGE => after = Some(last.id),
                _ => return Ok(restored),
            }
        }
    }

    async fn restore_one(
        &self,
        operation: &OpenOperation,
        now: UnixMillis,
        restored: &mut Restored,
    ) -> Result<(), StoreError> {
        let id = operation.id;
        if let Some(hash) = operation.watched {
            self.watcher.watch_again(id, hash, operation.done, now);
        }
        if operation.damaged {
            self.damage.set_aside(Table::Operations, id);
            self.index.load(operation, None);
            return Ok(());
        }
        let resend_at = operation.has_outbox.then(|| now.plus(Outbox::after_restart(restored.sending)));
        self.index.load(operation, resend_at);
        restored.latest = restored.latest.max(operation.at);
        if !operation.done {
            self.metrics.loaded(operation.kind);
        }
        if let Some(at) = operation.wake_at {
            self.timers.set(at, id, Alarm::Wake);
        } else if operation.kind == OperationKind::KeyHandshake {
            self.reusable_handshakes.add(id);
        }
        if operation.kind == OperationKind::TicketDelivery {
            self.outgoing.add(id);
        }
        let waits = matches!(
            operation.kind,
            OperationKind::SinglePayment
                | OperationKind::OutgoingPayment
                | OperationKind::TicketRequest
                | OperationKind::TicketDelivery
                | OperationKind::VerificationSession
                | OperationKind::Login
                | OperationKind::Authentication
        );
        if waits && !operation.done {
            restored.waiting.push(id);
        }
        if operation.kind == OperationKind::OutgoingPayment
            && let Some((stored, payment)) = self.damage.readable(id).await?
            && let Some(spending) = payment.spending()
        {
            self.budget.update(id, stored.revision, &spending, now);
        }
        if operation.kind == OperationKind::Login
            && let Some((_, Operation::Login(login))) = self.damage.readable(id).await?
            && let Some(reusable) = login.reusable()
        {
            self.reusable_logins.stepped(id, reusable, &login, true);
        }
        if operation.kind == OperationKind::RecurringRequest
            && let Some((_, operation)) = self.damage.readable(id).await?
            && let Some(keys) = operation.may_close_early()
        {
            self.index.set_participants(id, keys);
        }
        if let Some(at) = resend_at {
            restored.sending += 1;
            self.timers.set(at, id, Alarm::Resend);
        }
        Ok(())
    }
}
