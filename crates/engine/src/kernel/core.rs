use std::sync::Arc;

use usher_protocol::message::PaymentHash;

use super::damaged_rows::DamagedRows;
use super::id_generator::Ids;
use super::index::Index;
use super::input_queue::InputQueue;
use super::metrics::Metrics;
use super::recent_states::RecentStates;
use super::requested_store::RequestedStore;
use super::requester::Requester;
use super::tasks::Tasks;
use super::timers::Timers;
use crate::StreamId;
use crate::ports::{Clock, CorrelationKey, Randomness, StoreError, StoredOperation, Table};
use crate::registry::Operation;

/// The store, the clock, and the parts without dependencies on other parts. Every part has a copy.
#[derive(Clone)]
pub(crate) struct Core {
    pub(crate) store: RequestedStore,
    pub(crate) damaged_rows: Arc<DamagedRows>,
    pub(crate) index: Arc<Index>,
    pub(crate) recent_states: Arc<RecentStates>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) inputs: InputQueue,
    pub(crate) ids: Ids,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) tasks: Tasks,
}

impl Core {
    /// Whether the Lightning backend must not pay the invoice with this hash for `payment`: another payment does, it was
    /// paid, or it is the service's own. A backend may take what it received for a payment by it.
    pub(crate) async fn is_unpayable(&self, hash: PaymentHash, payment: StreamId) -> Result<bool, StoreError> {
        let is_of_another = self.index.find(CorrelationKey::paying(hash)).is_some_and(|owner| owner != payment);
        Ok(is_of_another || self.is_own_invoice(hash) || self.store.is_paid(hash).await?)
    }

    /// Whether it is the hash of an invoice of the service that may be paid, or is paid: several invoices can pay one
    /// payment, and the books have one.
    pub(crate) fn is_own_invoice(&self, hash: PaymentHash) -> bool {
        self.index.find(CorrelationKey::invoice(hash)).is_some()
    }

    /// The stored operation; a damaged one is set aside and treated as missing.
    pub(crate) async fn readable(
        &self,
        requester: &Requester,
        id: StreamId,
    ) -> Result<Option<(StoredOperation, Operation)>, StoreError> {
        match self.store.operation(requester, id).await {
            Ok(stored) => Ok(stored.and_then(|stored| {
                let operation = self.damaged_rows.read_operation(id, &stored)?;
                Some((stored, operation))
            })),
            Err(StoreError::Unreadable(_)) => {
                self.damaged_rows.set_aside(Table::Operations, id);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }
}
