//! Rows of the store that cannot be read: set aside, said once, and nothing else suffers.
//!
//! | damaged | what becomes of it | what it costs |
//! | --- | --- | --- |
//! | an operation | nothing is done with it any more; it keeps its correlation keys, and its invoice is still looked up | its end is not told. Since it keeps its keys an invoice that it was to pay is never paid by another operation; money that arrives for it is said in the log each time |
//! | an event | readers get those before it, then an error that names it; its delivery is given up | that event |
//! | an outgoing message | it is not sent any more | the user is not asked, and the operation expires |
//! | a delivery | it is given up, and the next one of its stream goes on | that post |
//! | a user's relays | the user is reached at the service's own | until a wallet names relays again |
//!
//! What was set aside is kept in memory: a repaired database is read anew at the next start.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tracing::{error, info};

use super::Engine;
use crate::StreamId;
use crate::event::Event;
use crate::operations::{Input, Operation};
use crate::ports::{DamagedRow, InvoiceStatus, StoreError, StoredOperation, Table};

/// Most rows that are remembered; more are counted as this many.
const MOST: usize = 1000;

/// Rows read between two pauses of the check after a start.
const CHECKED_AT_ONCE: usize = 100;

/// The pause: the check takes a hundredth of a reader's time.
const CHECK_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// The rows that were set aside.
#[derive(Default)]
pub(super) struct Damage(Mutex<BTreeSet<DamagedRow>>);

impl Damage {
    /// Whether it was not known.
    fn add(&self, row: DamagedRow) -> bool {
        let mut rows = self.0.lock();
        rows.len() < MOST && rows.insert(row)
    }
}

impl Engine {
    /// The rows of the store that were found damaged since the start, and set aside; at most 1,000.
    pub fn damaged_rows(&self) -> Vec<DamagedRow> {
        self.damage.0.lock().iter().cloned().collect()
    }

    /// Sets a row aside: said once.
    pub(super) fn set_aside(&self, table: Table, id: impl ToString) {
        let row = DamagedRow { table, id: id.to_string() };
        if self.damage.add(row.clone()) {
            error!(
                table = table.as_str(),
                id = row.id,
                "a row of the database is damaged and was set aside; everything else goes on. See docs/operations.md"
            );
        }
    }

    /// An operation could not be stepped by these inputs, for its row is damaged.
    pub(super) fn set_aside_operation<'a>(&self, id: StreamId, inputs: impl Iterator<Item = &'a Input>) {
        self.set_aside(Table::Operations, id);
        for input in inputs {
            if matches!(input, Input::Settled(_) | Input::InvoiceStatus(Ok(InvoiceStatus::Settled(_)))) {
                error!(stream_id = %id, "money has arrived for a payment whose row is damaged: it cannot be told as paid");
            }
        }
    }

    /// The operation in this row, unless it is damaged: then it is set aside.
    pub(super) fn read_operation(&self, id: StreamId, stored: &StoredOperation) -> Option<Operation> {
        let operation = Operation::from_state(&stored.state).ok();
        if operation.is_none() {
            self.set_aside(Table::Operations, id);
        }
        operation
    }

    /// What the store has of this operation; a row that is damaged is set aside, and as good as none.
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

    /// Up to `limit` events from `after` on, those before the first that is damaged; that one is an error.
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
        // Those before the first may have been removed.
        let first = self.store.first_index(stream).await?;
        let mut next = first.map_or(after, |first| first.max(after));
        while events.len() < limit {
            match self.store.events(stream, next, 1).await {
                Ok(one) => match one.into_iter().next() {
                    // Removed meanwhile: no gap in what is answered.
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

    /// Reads every open operation once after a start, so that a damaged one is known before it is needed.
    pub(super) async fn check_operations(self: std::sync::Arc<Self>) {
        let open = self.index.ids();
        let mut checked = 0_usize;
        for id in open {
            if id != StreamId::SUBSCRIPTIONS && self.readable(id).await.is_err() {
                break;
            }
            checked += 1;
            if checked.is_multiple_of(CHECKED_AT_ONCE) {
                tokio::select! {
                    () = self.clock.sleep(CHECK_PAUSE) => {}
                    () = self.stop.cancelled() => return,
                }
            }
        }
        let damaged = self.damaged_rows().len();
        if damaged > 0 {
            info!(checked, damaged, "open operations were checked");
        }
        self.stop.cancelled().await;
    }
}

/// The event at this index is damaged.
pub(super) struct Damaged(pub(super) u64);
