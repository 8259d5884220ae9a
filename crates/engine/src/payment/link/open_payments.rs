//! The open payments at links, and further invoices of payments: anybody can start one, and each costs a request to the
//! Lightning backend, and is watched for three hours after its end. They are limited by network, by link, and in total;
//! refused clients can retry.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tracing::debug;
use usher_places::{Holder, Places, limit};
use usher_protocol::bolt11::Invoice;
use usher_token_bucket::Rate;

use super::error::LinkError;
use crate::kernel::network_rates::NetworkRates;
use crate::kernel::observer::{CommittedStep, Observer};
use crate::kernel::requested_store::RequestedStore;
use crate::kernel::tasks::Tasks;
use crate::machine::StateMachine as _;
use crate::payment::operation::Payment;
use crate::ports::{Clock, OpenOperation, OperationKind, Version};
use crate::registry::Operation;
use crate::{ClientNetwork, StreamId, UnixMillis};

/// Invoices that one network can request. Many people may share an address, and an event may start for all at once.
const RATE: Rate = Rate::every(60, Duration::from_secs(3));

/// When to retry if there is no free place.
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
    /// Payments whose invoice is being created, and the receiver of each.
    making: Places<StreamId, oneshot::Sender<Invoice>>,
    rates: NetworkRates,
}

/// The place of a payment that is not committed yet; dropping it frees the place.
pub(in crate::payment) struct NewPlace {
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

    /// Takes a place for a payment requested by this network; returns the receiver of its invoice.
    pub(in crate::payment) fn begin(
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
            // The receiver may be gone.
            let _ = waiting.send(invoice.clone());
        }
    }
}

impl NewPlace {
    /// Keeps the place of a committed payment, until it finishes.
    pub(in crate::payment) fn keep(mut self) {
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
            // For payments of an earlier process, the network is unknown.
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
        // Unpaid payments leave nothing, because anybody can start any number. Those left by a stop are removed after
        // their retention.
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
