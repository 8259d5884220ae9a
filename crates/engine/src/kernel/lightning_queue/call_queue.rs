//! One queue of requests to the Lightning backend.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tracing::warn;

use crate::StreamId;
use crate::machine::{Input, LightningRequest};

const QUEUE: usize = 4096;

pub(super) struct CallQueue {
    queue: mpsc::Sender<(StreamId, LightningRequest)>,
    /// It was full, and has not been half empty since: logged once.
    full: AtomicBool,
}

impl CallQueue {
    pub(super) fn new() -> (Self, mpsc::Receiver<(StreamId, LightningRequest)>) {
        let (queue, calls) = mpsc::channel(QUEUE);
        (Self { queue, full: AtomicBool::new(false) }, calls)
    }

    pub(super) fn put(&self, id: StreamId, call: LightningRequest) -> Option<LightningRequest> {
        match self.queue.try_send((id, call)) {
            Err(TrySendError::Full((_, call))) => {
                if !self.full.swap(true, Ordering::Relaxed) {
                    warn!(
                        stream_id = %id,
                        "more requests to the Lightning backend than it answers: some are made again later"
                    );
                }
                return Some(call);
            }
            Ok(()) if self.queue.capacity() > QUEUE / 2 => self.full.store(false, Ordering::Relaxed),
            // Closed: the engine is stopping.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
        None
    }
}

/// Requests that an operation may repeat while it waits for the reply. Payments are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallKind {
    Invoice,
    InvoiceStatus,
    PreparedPayment,
    PaymentStatus,
    OnChain,
}

impl CallKind {
    pub(super) const fn of(call: &LightningRequest) -> Option<Self> {
        match call {
            LightningRequest::MakeInvoice(_) => Some(Self::Invoice),
            LightningRequest::LookUpInvoice(_) => Some(Self::InvoiceStatus),
            LightningRequest::PreparePayment { .. } => Some(Self::PreparedPayment),
            LightningRequest::LookUpPayment { .. } => Some(Self::PaymentStatus),
            LightningRequest::SendOnChain(_) | LightningRequest::LookUpOnChain(_) => Some(Self::OnChain),
            LightningRequest::Pay { .. } => None,
        }
    }

    pub(super) const fn of_reply(input: &Input) -> Option<Self> {
        match input {
            Input::InvoiceMade(_) => Some(Self::Invoice),
            Input::InvoiceStatus(_) => Some(Self::InvoiceStatus),
            Input::PaymentPrepared(_) => Some(Self::PreparedPayment),
            Input::PaymentStatus(_) => Some(Self::PaymentStatus),
            Input::OnChain(_) => Some(Self::OnChain),
            _ => None,
        }
    }
}
