//! Damaged rows of the store: each is set aside and reported once, and nothing else suffers.
//!
//! | damaged | what happens | what is lost |
//! | --- | --- | --- |
//! | an operation | it is never stepped again; it keeps its correlation keys, and its invoice is still looked up | its end is not reported. Because it keeps its keys, no other operation pays an invoice that it was to pay; money that arrives for it is logged each time |
//! | an event | readers get the events before it, then an error that names it; its delivery is given up | that event |
//! | an outgoing message | it is not sent any more | the user is not asked, and the operation expires |
//! | a delivery | it is given up, and the next one of its stream goes on | that post |
//! | a user's relays | the user is reached at the service's own relays | until a wallet names relays again |
//!
//! What was set aside is kept in memory: after a restart a repaired database is read afresh.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{error, info};

use super::tasks::Tasks;
use crate::StreamId;
use crate::event::Event;
use crate::operations::{Input, Operation};
use crate::ports::{Clock, DamagedRow, InvoiceStatus, Store, StoreError, StoredOperation, Table};

/// Most rows that are remembered; the ones beyond are not reported.
const MAX_ROWS: usize = 1000;

/// Rows read between two pauses of the check after a start.
const CHECKED_AT_ONCE: usize = 100;

/// The pause: the check takes a hundredth of a reader's time.
const CHECK_PAUSE: Duration = Duration::from_millis(100);

/// Reads rows that may be damaged, and remembers those that are.
pub(super) struct Damage {
    store: Arc<dyn Store>,
    rows: Mutex<BTreeSet<DamagedRow>>,
}

impl Damage {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, rows: Mutex::default() }
    }

    /// The damaged rows that were found since the start, at most 1,000.
    pub(super) fn rows(&self) -> Vec<DamagedRow> {
        self.rows.lock().iter().cloned().collect()
    }

    /// Sets a row aside; logs it the first time.
    pub(super) fn set_aside(&self, table: Table, id: impl ToString) {
        let row = DamagedRow { table, id: id.to_string() };
        let is_new = {
            let mut rows = self.rows.lock();
            rows.len() < MAX_ROWS && rows.insert(row.clone())
        };
        if is_new {
            error!(
                table = table.as_str(),
                id = row.id,
                "a row of the database is damaged and was set aside; everything else goes on. See docs/operations.md"
            );
        }
    }

    /// Sets an operation aside that could not be stepped by these inputs.
    pub(super) fn set_aside_operation<'a>(&self, id: StreamId, inputs: impl Iterator<Item = &'a Input>) {
        self.set_aside(Table::Operations, id);
        for input in inputs {
            if matches!(input, Input::Settled(_) | Input::InvoiceStatus(Ok(InvoiceStatus::Settled(_)))) {
                error!(stream_id = %id, "money has arrived for a payment whose row is damaged: it cannot be told as paid");
            }
        }
    }

    /// The operation in this row; `None` when it is damaged: then it is set aside.
    pub(super) fn read_operation(&self, id: StreamId, stored: &StoredOperation) -> Option<Operation> {
        let operation = Operation::from_state(&stored.state).ok();
        if operation.is_none() {
            self.set_aside(Table::Operations, id);
        }
        operation
    }

    /// The stored operation; a damaged one is set aside, and treated as if there were none.
    pub(super) async fn readable(&self, id: StreamId) -> Result<Option<(StoredOperation, Operation)>, StoreError> {
        match self.store.operation(id).await {
            Ok(stored) => {
                Ok(stored.and_then(|stored| self.read_operation(id, &stored).map(|operation| (stored, operation))))
            }
            Err(StoreError::Unreadable(_)) => {
                self.set_aside(Table::Operations, id);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Up to `limit` events from `after` on, up to the first damaged one; an error when that is the first of all.
    pub(super) async fn readable_events(
        &self,
        stream: StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Result<Vec<Event>, Damaged>, StoreError> {
        match self.store.events(stream, after, limit).await {
            Err(StoreError::Unreadable(_)) => {}
            read => return read.map(Ok),
        }
        let mut events = Vec::new();
        // Earlier ones may have been removed.
        let first = self.store.first_index(stream).await?;
        let mut next = first.map_or(after, |first| first.max(after));
        while events.len() < limit {
            match self.store.events(stream, next, 1).await {
                Ok(one) => match one.into_iter().next() {
                    // Removed meanwhile: a page has no gaps.
                    Some(event) if event.index > next && !events.is_empty() => break,
                    Some(event) => {
                        next = event.index + 1;
                        events.push(event);
                    }
                    None => break,
                },
                Err(StoreError::Unreadable(_)) => {
                    self.set_aside(Table::Events, format_args!("{stream}:{next}"));
                    if events.is_empty() {
                        return Ok(Err(Damaged(next)));
                    }
                    break;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(Ok(events))
    }

    /// Reads these open operations once after a start, so that damaged ones are known before they are needed.
    pub(super) async fn check_operations(&self, ids: Vec<StreamId>, clock: &dyn Clock, tasks: &Tasks) {
        let mut checked = 0_usize;
        for id in ids {
            if id != StreamId::SUBSCRIPTIONS && self.readable(id).await.is_err() {
                break;
            }
            checked += 1;
            if checked.is_multiple_of(CHECKED_AT_ONCE) && tasks.unless_stopped(clock.sleep(CHECK_PAUSE)).await.is_none()
            {
                return;
            }
        }
        let damaged = self.rows.lock().len();
        if damaged > 0 {
            info!(checked, damaged, "open operations were checked");
        }
    }
}

/// The event at this index is damaged.
pub(super) struct Damaged(pub(super) u64);
