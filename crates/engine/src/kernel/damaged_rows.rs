//! Damaged rows of the store: each is set aside and reported once, and nothing else is affected.
//!
//! A row is damaged if it cannot be read, or has impossible values (a negative time, event data that is not a JSON
//! object, more events than its steps could have emitted).
//!
//! | damaged | what happens | what is lost |
//! | --- | --- | --- |
//! | an operation | it is never stepped again; it keeps its correlation keys, and its invoice is still looked up | its end is not reported. Because it keeps its keys, no other operation pays the invoice that it was paying; money received for it is logged each time |
//! | an event | readers get the events before it, then an error with its index; its delivery is given up | that event |
//! | an outgoing message | it is no longer sent | the user gets no request, and the operation expires |
//! | a delivery | it is given up, and the next one of its stream continues; one with an unknown status is in no list | that post |
//! | a user's relays | the user is reached at the service's own relays | until a wallet names relays again |
//! | an idempotency record | requests with its key are refused until it has expired | those requests |
//!
//! Rows are checked when needed; `usher doctor` reads all of them. The rows set aside are listed in memory, so a
//! repaired database is read again after a restart. (Ticket wallet: see [`TicketStore`](crate::ports::TicketStore).)

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tracing::error;

use crate::StreamId;
use crate::machine::{Input, TicketReply};
use crate::ports::{DamagedRow, InvoiceStatus, StoredOperation, Table};
use crate::registry::Operation;

const MAX_ROWS: usize = 1000;

#[derive(Default)]
pub(crate) struct DamagedRows(Mutex<BTreeSet<DamagedRow>>);

impl DamagedRows {
    pub(crate) fn rows(&self) -> Vec<DamagedRow> {
        self.0.lock().iter().cloned().collect()
    }

    pub(crate) fn set_aside(&self, table: Table, id: impl ToString) {
        let row = DamagedRow { table, id: id.to_string() };
        let is_new = {
            let mut rows = self.0.lock();
            rows.len() < MAX_ROWS && rows.insert(row.clone())
        };
        if is_new {
            error!(
                table = table.as_str(),
                id = row.id,
                "a row of the database is damaged and was set aside; everything else goes on. See docs/backup.md"
            );
        }
    }

    /// Sets an operation with a damaged row aside, which these inputs could not step.
    pub(crate) fn set_aside_operation<'a>(&self, id: StreamId, inputs: impl Iterator<Item = &'a Input>) {
        self.set_aside(Table::Operations, id);
        warn_of_lost_results(id, inputs);
    }

    /// The operation in this row; `None` if it is damaged and was set aside.
    pub(crate) fn read_operation(&self, id: StreamId, stored: &StoredOperation) -> Option<Operation> {
        let operation = Operation::from_state(&stored.state).ok();
        if operation.is_none() {
            self.set_aside(Table::Operations, id);
        }
        operation
    }
}

/// Logs the money and tickets that an operation cannot report, because these inputs could not step it.
pub(crate) fn warn_of_lost_results<'a>(id: StreamId, inputs: impl Iterator<Item = &'a Input>) {
    for input in inputs {
        if matches!(input, Input::Settled(_) | Input::InvoiceStatus(Ok(InvoiceStatus::Settled(_)))) {
            error!(stream_id = %id, "money has arrived for a payment that could not step: it cannot be reported as paid");
        }
        if matches!(
            input,
            Input::Ticket(TicketReply::Redeemed(Ok(_)) | TicketReply::Verified(Ok(_)) | TicketReply::Minted(Ok(_)))
        ) {
            error!(
                stream_id = %id,
                "the ticket wallet has done its job for an operation that could not step: its result is not reported. What \
                 was redeemed is in the balance"
            );
        }
    }
}
