//! The payments at links that are open: anybody can start one, and each costs a request to the Lightning backend, and is watched for
//! three hours after its end. They are bounded by the network that asks, by their link, and in all; those that are refused can try again.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tracing::debug;
use usher_places::{Holder, Places, limit};
use usher_protocol::bolt11::Invoice;
use usher_token_bucket::Rate;

use super::pay::LinkError;
use crate::kernel::network_rates::NetworkRates;
use crate::kernel::observer::{CommittedStep, Observer};
use crate::kernel::requested_store::RequestedStore;
use crate::kernel::tasks::Tasks;
use crate::operations::{Operation, Payment, StateMachine as _};
use crate::ports::{Clock, OpenOperation, OperationKind, Version};
use crate::{ClientNetwork, StreamId, UnixMillis};

/// Invoices that one network may ask for. Many people may share an address, and an event begins for all at once.
const RATE: Rate = Rate::every(60, Duration::from_secs(3));

/// How long to wait when no place is free.
const RETRY_AFTER: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(crate) struct OpenPayments(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    store: RequestedStore,
    tasks: Tasks,
    table: Mutex<Table>,
}

struct Table {
    open: Places<StreamId>,
    of_links: Places<StreamId>,
    /// Those whose invoice is being made, and who waits for it.
    making: Places<StreamId, oneshot::Sender<Invoice>>,
    rates: NetworkRates,
}

/// The place of a payment that is not committed yet; dropped, it is free again.
pub(super) struct NewPlace {
    payments: OpenPayments,
    payment: Option<StreamId>,
}

impl OpenPayments {
    pub(crate) fn new(max_open: usize, clock: Arc<dyn Clock>, store: RequestedStore, tasks: Tasks) -> Self {
        let table = Table {
            open: Places::new(limit::LINK_PAYMENTS.of(max_open)),
            of_links: Places::new(limit::PAYMENTS_OF_LINKS.of(max_open)),
            making: Places::new(limit::LINK_INVOICES.fixed()),
            rates: NetworkRates::new(RATE),
        };
        Self(Arc::new(Inner { clock, store, tasks, table: Mutex::new(table) }))
    }

    /// Takes a place for a payment that this network asks for, and returns where its invoice arrives.
    pub(super) fn begin(
        &self,
        link: StreamId,
        payment: StreamId,
        network: ClientNetwork,
    ) -> Result<(NewPlace, oneshot::Receiver<Invoice>), LinkError> {
        let now = self.0.clock.monotonic();
        let (sender, invoice) = oneshot::channel();
        let mut table = self.0.table.lock();
        table.rates.take(network, now).map_err(|retry_after| LinkError::Busy { retry_after })?;
        let (link, network) = (Holder::key(&link.to_string()), Holder::from(network));
        let taken = table.of_links.take(payment, &link, (), now);
        let taken = taken.and_then(|_| table.open.take(payment, &network, (), now));
        if taken.and_then(|_| table.making.take(payment, &network, sender, now)).is_err() {
            table.free(&payment);
            return Err(LinkError::Busy { retry_after: RETRY_AFTER });
        }
        Ok((NewPlace { payments: self.clone(), payment: Some(payment) }, invoice))
    }

    fn stepped(&self, id: StreamId, payment: &Payment) {
        if payment.invoice().is_none() && !payment.is_done() {
            return;
        }
        let waiting = self.0.table.lock().making.free(&id);
        if let Some((waiting, invoice)) = waiting.zip(payment.invoice()) {
            // Nobody may wait any more.
            let _ = waiting.send(invoice.clone());
        }
    }
}

impl NewPlace {
    /// The payment is committed: its place is free when it has finished.
    pub(super) fn keep(mut self) {
        self.payment = None;
    }
}

impl Drop for NewPlace {
    fn drop(&mut self) {
        if let Some(payment) = self.payment {
            self.payments.0.table.lock().free(&payment);
        }
    }
}

impl Table {
    fn free(&mut self, payment: &StreamId) {
        self.making.free(payment);
        self.open.free(payment);
        self.of_links.free(payment);
    }
}

impl Observer for OpenPayments {
    fn restored(&self, open: &OpenOperation, _: Option<(Version, &Operation)>, _: UnixMillis) {
        if open.kind == OperationKind::LinkPayment {
            // Of what an earlier process started, nothing else is known.
            let (mut table, now) = (self.0.table.lock(), self.0.clock.monotonic());
            table.open.add(open.id, Holder::crowd("unknown"), (), now);
            table.of_links.add(open.id, Holder::crowd("unknown"), (), now);
        }
    }

    fn committed(&self, step: &CommittedStep<'_>) {
        if let Operation::LinkPayment(payment) = step.operation {
            self.stepped(step.id, payment);
        }
    }

    fn finished(&self, step: &CommittedStep<'_>) {
        let Operation::LinkPayment(payment) = step.operation else { return };
        self.0.table.lock().free(&step.id);
        if payment.is_paid() {
            return;
        }
        // Nothing stays of one that nobody paid: anybody can start as many as they like. One that a stop leaves goes with the others
        // after retention.
        let (store, id) = (self.0.store.clone(), step.id);
        self.0.tasks.spawn(async move {
            if let Err(failure) = store.remove_without_events(vec![id]).await {
                debug!(stream_id = %id, error = ?failure, "an unpaid payment could not be removed; it goes after retention");
            }
        });
    }
}

#[cfg(test)]
mod tests;
