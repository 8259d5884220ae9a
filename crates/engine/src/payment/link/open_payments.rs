//! The payments at links that are open: anybody can start one, and each costs a request to the Lightning backend, and is watched for
//! three hours after its end. They are bounded by the network that asks, by their link, and in all; those that are refused can try again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tracing::debug;
use usher_protocol::bolt11::Invoice;
use usher_token_bucket::{Rate, TokenBucket};

use super::pay::LinkError;
use crate::kernel::bounded_cache::bounded;
use crate::kernel::observer::{CommittedStep, Observer};
use crate::kernel::per_network_limit::quota;
use crate::kernel::requested_store::RequestedStore;
use crate::kernel::tasks::Tasks;
use crate::operations::{Operation, Payment};
use crate::ports::{Clock, OpenOperation, OperationKind, Version};
use crate::{ClientNetwork, StreamId, UnixMillis};

/// How many of the operations that may be open may be payments at links, with those that wait for late money: one in so many.
const SHARE: usize = 4;

/// How many of these places one link may have: one in so many. So a flood at one link leaves room for the others.
const LINK_SHARE: usize = 2;

/// How many of these places one network may have: one in so many.
const NETWORK_SHARE: usize = 32;

/// Invoices that are being made at a time: a wallet that does not respond holds up no more.
const MAKING: usize = 64;

/// Invoices that one network may ask for. Many people may share an address, and an event begins for all at once.
const RATE: Rate = Rate::every(60, Duration::from_secs(3));

/// Networks whose rates are remembered.
const REMEMBERED: usize = 10_000;

/// How long to wait when no place is free.
const RETRY_AFTER: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(crate) struct OpenPayments(Arc<Inner>);

struct Inner {
    most: usize,
    clock: Arc<dyn Clock>,
    store: RequestedStore,
    tasks: Tasks,
    table: Mutex<Table>,
}

struct Table {
    /// About 150 bytes each.
    places: HashMap<StreamId, Place>,
    by_link: HashMap<StreamId, usize>,
    by_network: HashMap<ClientNetwork, usize>,
    making: usize,
    making_by_network: HashMap<ClientNetwork, usize>,
    rates: LruCache<ClientNetwork, TokenBucket<Duration>>,
}

/// The place of a payment; of one that an earlier process started, nothing else is known.
#[derive(Default)]
struct Place {
    link: Option<StreamId>,
    network: Option<ClientNetwork>,
    /// Who waits for the invoice, while it is being made.
    making: Option<oneshot::Sender<Invoice>>,
}

/// The place of a payment that is not committed yet; dropped, it is free again.
pub(super) struct NewPlace {
    payments: OpenPayments,
    payment: Option<StreamId>,
}

impl OpenPayments {
    pub(crate) fn new(max_open: usize, clock: Arc<dyn Clock>, store: RequestedStore, tasks: Tasks) -> Self {
        let table = Table {
            places: HashMap::new(),
            by_link: HashMap::new(),
            by_network: HashMap::new(),
            making: 0,
            making_by_network: HashMap::new(),
            rates: bounded(REMEMBERED),
        };
        let most = (max_open / SHARE).max(1);
        Self(Arc::new(Inner { most, clock, store, tasks, table: Mutex::new(table) }))
    }

    /// Takes a place for a payment that this network asks for, and returns where its invoice arrives.
    pub(super) fn begin(
        &self,
        link: StreamId,
        payment: StreamId,
        network: ClientNetwork,
    ) -> Result<(NewPlace, oneshot::Receiver<Invoice>), LinkError> {
        let now = self.0.clock.monotonic();
        let mut table = self.0.table.lock();
        table.take_turn(network, now)?;
        table.check_room(link, network, self.0.most)?;
        let (sender, invoice) = oneshot::channel();
        *table.by_link.entry(link).or_default() += 1;
        *table.by_network.entry(network).or_default() += 1;
        table.making += 1;
        *table.making_by_network.entry(network).or_default() += 1;
        let place = Place { link: Some(link), network: Some(network), making: Some(sender) };
        table.places.insert(payment, place);
        Ok((NewPlace { payments: self.clone(), payment: Some(payment) }, invoice))
    }

    fn stepped(&self, id: StreamId, payment: &Payment) {
        if payment.invoice().is_none() && !payment.is_over() {
            return;
        }
        let waiting = self.0.table.lock().is_made(id);
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
            self.payments.0.table.lock().remove(payment);
        }
    }
}

impl Table {
    fn take_turn(&mut self, network: ClientNetwork, now: Duration) -> Result<(), LinkError> {
        if network == ClientNetwork::Loopback {
            return Ok(());
        }
        let rate = self.rates.get_or_insert_mut(network, || TokenBucket::new(RATE, now));
        rate.try_take(now).map_err(|retry_after| LinkError::Busy { retry_after })
    }

    fn check_room(&self, link: StreamId, network: ClientNetwork, most: usize) -> Result<(), LinkError> {
        let held = |count: Option<&usize>| count.copied().unwrap_or_default();
        let of_network = matches!(network, ClientNetwork::Network(_)).then(|| (most / NETWORK_SHARE).max(1));
        let is_full = self.places.len() >= most
            || held(self.by_link.get(&link)) >= (most / LINK_SHARE).max(1)
            || of_network.is_some_and(|of| held(self.by_network.get(&network)) >= of)
            || self.making >= MAKING
            || quota(network, MAKING).is_some_and(|of| held(self.making_by_network.get(&network)) >= of);
        if is_full { Err(LinkError::Busy { retry_after: RETRY_AFTER }) } else { Ok(()) }
    }

    /// Its invoice was made, or will not be.
    fn is_made(&mut self, id: StreamId) -> Option<oneshot::Sender<Invoice>> {
        let place = self.places.get_mut(&id)?;
        let (waiting, network) = (place.making.take()?, place.network);
        self.making = self.making.saturating_sub(1);
        if let Some(network) = network {
            decrement(&mut self.making_by_network, network);
        }
        Some(waiting)
    }

    fn remove(&mut self, id: StreamId) {
        drop(self.is_made(id));
        let Some(place) = self.places.remove(&id) else { return };
        if let Some(link) = place.link {
            decrement(&mut self.by_link, link);
        }
        if let Some(network) = place.network {
            decrement(&mut self.by_network, network);
        }
    }
}

fn decrement<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: K) {
    if let Some(count) = counts.get_mut(&key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

impl Observer for OpenPayments {
    fn restored(&self, open: &OpenOperation, _: Option<(Version, &Operation)>, _: UnixMillis) {
        if open.kind == OperationKind::LinkPayment {
            self.0.table.lock().places.insert(open.id, Place::default());
        }
    }

    fn committed(&self, step: &CommittedStep<'_>) {
        if let Operation::LinkPayment(payment) = step.operation {
            self.stepped(step.id, payment);
        }
    }

    fn finished(&self, step: &CommittedStep<'_>) {
        let Operation::LinkPayment(payment) = step.operation else { return };
        self.0.table.lock().remove(step.id);
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
