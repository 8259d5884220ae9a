//! Damaged rows of the store: each is set aside and reported once, and nothing else is affected.
//!
//! A row is damaged when it cannot be read, holds impossible values (a negative time, event data that is not a JSON
//! object, more events than there were steps for), or is missing.
//!
//! | damaged | what happens | what is lost |
//! | --- | --- | --- |
//! | an operation | it is never stepped again; it keeps its correlation keys, and its invoice is still looked up | its end is not reported. Because it keeps its keys, no other operation pays an invoice that it was to pay; money that arrives for it is logged each time |
//! | an event | readers get the events before it, then an error that names it; its delivery is given up | that event |
//! | an outgoing message | it is not sent any more | the user is not asked, and the operation expires |
//! | a delivery | it is given up, and the next one of its stream continues; one with an unknown status is in no list | that post |
//! | a user's relays | the user is reached at the service's own relays | until a wallet names relays again |
//! | an idempotency record | requests with its key are refused until it has expired | those requests |
//! | a setting | the configured value is used | what was changed at run time |
//! | a job, claim, proof or counter of the ticket wallet | what needs it is refused, and it is never taken for a missing one ([`TicketStore`](crate::ports::TicketStore)) | that ticket, until it is repaired |
//!
//! Damaged rows are found when they are needed, and by a check of all rows after each start. What was set aside is kept in
//! memory: after a restart a repaired database is read afresh.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{error, info, warn};

use super::errors::EventsError;
use super::tasks::Tasks;
use crate::StreamId;
use crate::event::Event;
use crate::operations::{Input, Operation, TicketReply};
use crate::ports::{
    Clock, DamagedRow, InvoiceStatus, OperationKind, RowPosition, Store, StoreError, StoredOperation, Table,
};

/// Most rows that are remembered; the ones beyond are not reported.
const MAX_ROWS: usize = 1000;

/// Rows read between two pauses of the check after a start.
const CHECKED_AT_ONCE: usize = 100;

/// Rows of any table read between two pauses: a database of a million rows takes three minutes.
const ROWS_AT_ONCE: usize = 500;

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
            if matches!(
                input,
                Input::Ticket(TicketReply::Redeemed(Ok(_)) | TicketReply::Verified(Ok(_)) | TicketReply::Minted(Ok(_)))
            ) {
                error!(
                    stream_id = %id,
                    "the ticket wallet has done its job for an operation whose row is damaged: its result is not reported. What \
                     was redeemed is in the balance"
                );
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

    /// Up to `limit` events from `after` on, up to the first damaged one; an error when that is the first of all. A missing
    /// event is damaged, too: all before `end` have been committed (`None` when that is not known). Events that were removed
    /// after their retention are not missing.
    ///
    /// # Errors
    /// [`EventsError::Damaged`], [`EventsError::NotFound`] when the stream was removed just now, or the store's error.
    pub(super) async fn readable_events(
        &self,
        stream: StreamId,
        after: u64,
        limit: usize,
        end: Option<u64>,
    ) -> Result<Vec<Event>, EventsError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let (mut events, unreadable) = match self.store.events(stream, after, limit).await {
            Ok(events) => (events, false),
            Err(StoreError::Unreadable(_)) => (self.events_before_damage(stream, after, limit).await?, true),
            Err(failure) => return Err(failure.into()),
        };
        let first = events.first().map(|event| event.index);
        let mut next = after;
        if first != Some(after) && (unreadable || first.is_some() || end.is_some_and(|end| after < end)) {
            next = self.first_expected(stream, after, first).await?;
        }
        let whole = events
            .iter()
            .take_while(|event| {
                let follows = event.index == next;
                next = next.saturating_add(u64::from(follows));
                follows
            })
            .count();
        let is_damaged =
            whole < events.len() || (events.len() < limit && (unreadable || end.is_some_and(|end| next < end)));
        events.truncate(whole);
        if is_damaged {
            self.set_aside(Table::Events, format_args!("{stream}:{next}"));
            if events.is_empty() {
                return Err(EventsError::Damaged { index: next });
            }
        }
        Ok(events)
    }

    /// The events from `after` on, one by one up to the first that cannot be read.
    async fn events_before_damage(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let mut events: Vec<Event> = Vec::new();
        while events.len() < limit {
            let next = events.last().map_or(after, |event| event.index.saturating_add(1));
            match self.store.events(stream, next, 1).await {
                Ok(one) if one.is_empty() => break,
                Ok(one) => events.extend(one),
                Err(StoreError::Unreadable(_)) => break,
                Err(failure) => return Err(failure),
            }
        }
        Ok(events)
    }

    /// The index of the first event from `after` on that should exist, when the `first` that could be read is another:
    /// earlier events may have been removed after their retention.
    async fn first_expected(&self, stream: StreamId, after: u64, first: Option<u64>) -> Result<u64, EventsError> {
        let loses_old_events = match self.store.operation(stream).await {
            Ok(Some(stored)) => matches!(stored.kind, OperationKind::Subscriptions | OperationKind::KeyHandshake),
            Ok(None) => return Err(EventsError::NotFound),
            Err(StoreError::Unreadable(_)) => true,
            Err(failure) => return Err(failure.into()),
        };
        let left = self.store.first_index(stream).await?.filter(|left| loses_old_events && *left > after);
        // More may have been removed since the events were read.
        Ok(left.map_or(after, |left| first.map_or(left, |first| first.min(left))))
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

    /// Checks every row of the store once after a start: most damage is found where a row is needed, but not all rows are
    /// needed soon, and a missing one is never read. `operation_damaged` is called for each operation.
    pub(super) async fn check_rows(&self, clock: &dyn Clock, tasks: &Tasks, operation_damaged: impl Fn(StreamId)) {
        let mut from = Some(RowPosition::default());
        while let Some(position) = from {
            let checked = match self.store.check_rows(position, ROWS_AT_ONCE).await {
                Ok(checked) => checked,
                Err(failure) => {
                    warn!(error = ?failure, "the check of all rows was given up; the next start repeats it");
                    return;
                }
            };
            for DamagedRow { table, id } in checked.damaged {
                if table == Table::Operations
                    && let Ok(id) = id.parse()
                {
                    operation_damaged(id);
                }
                self.set_aside(table, id);
            }
            from = checked.next;
            if from.is_some() && tasks.unless_stopped(clock.sleep(CHECK_PAUSE)).await.is_none() {
                return;
            }
        }
    }
}
