//! The lines in which operations wait for our own wallet.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tracing::warn;

use crate::StreamId;
use crate::operations::{Input, WalletCall};

/// Calls that wait for their turn in one line.
const QUEUE: usize = 4096;

/// Calls that take their turn one after the other.
pub(super) struct Line {
    queue: mpsc::Sender<(StreamId, WalletCall)>,
    /// It has been full, and is not half empty since: that is said once.
    full: AtomicBool,
}

impl Line {
    pub(super) fn new() -> (Self, mpsc::Receiver<(StreamId, WalletCall)>) {
        let (queue, asked) = mpsc::channel(QUEUE);
        (Self { queue, full: AtomicBool::new(false) }, asked)
    }

    /// Gives it back when the line is full.
    pub(super) fn put(&self, id: StreamId, call: WalletCall) -> Option<WalletCall> {
        match self.queue.try_send((id, call)) {
            Err(TrySendError::Full((_, call))) => {
                if !self.full.swap(true, Ordering::Relaxed) {
                    warn!(stream_id = %id, "the wallet is asked more than it answers: some of it is asked again later");
                }
                return Some(call);
            }
            Ok(()) if self.queue.capacity() > QUEUE / 2 => self.full.store(false, Ordering::Relaxed),
            // Closed: everything stops.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
        None
    }
}

/// What an operation wants to know of the wallet, and may ask for again while it does not. What pays is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    Invoice,
    InvoiceStatus,
    Prepared,
    PaymentStatus,
}

impl Question {
    pub(super) const fn of(call: &WalletCall) -> Option<Self> {
        match call {
            WalletCall::MakeInvoice(_) => Some(Self::Invoice),
            WalletCall::LookUpInvoice(_) => Some(Self::InvoiceStatus),
            WalletCall::PreparePayment { .. } => Some(Self::Prepared),
            WalletCall::LookUpPayment { .. } => Some(Self::PaymentStatus),
            WalletCall::Pay { .. } => None,
        }
    }

    pub(super) const fn answered_by(input: &Input) -> Option<Self> {
        match input {
            Input::InvoiceMade(_) => Some(Self::Invoice),
            Input::InvoiceStatus(_) => Some(Self::InvoiceStatus),
            Input::PaymentPrepared(_) => Some(Self::Prepared),
            Input::PaymentStatus(_) => Some(Self::PaymentStatus),
            _ => None,
        }
    }
}
