use std::sync::Arc;

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
use crate::ports::{Clock, Randomness, StoreError, StoredOperation, Table};
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
