//! Responses that a test holds back until it releases them.

use std::collections::VecDeque;

use parking_lot::Mutex;
use usher_protocol::message::PaymentHash;
use usher_sandbox::lightning::nwc::{NwcRequest, Response};

/// Responses that can be held; the oldest is dropped first.
const MAX_HELD: usize = 20_000;

/// Everything that is held.
#[derive(Debug, Default)]
pub(super) struct HeldQueue {
    held: Mutex<VecDeque<(NwcRequest, Response)>>,
    payments: Mutex<VecDeque<(PaymentHash, NwcRequest)>>,
}

impl HeldQueue {
    pub(super) fn push(&self, request: NwcRequest, response: Response) {
        push_bounded(&self.held, (request, response));
    }

    /// Holds the request of a payment in flight.
    pub(super) fn push_payment(&self, hash: PaymentHash, request: NwcRequest) {
        push_bounded(&self.payments, (hash, request));
    }

    pub(super) fn take(&self) -> VecDeque<(NwcRequest, Response)> {
        std::mem::take(&mut *self.held.lock())
    }

    pub(super) fn take_payments(&self) -> VecDeque<(PaymentHash, NwcRequest)> {
        std::mem::take(&mut *self.payments.lock())
    }
}

fn push_bounded<T>(queue: &Mutex<VecDeque<T>>, item: T) {
    let mut queue = queue.lock();
    if queue.len() >= MAX_HELD {
        queue.pop_front();
    }
    queue.push_back(item);
}
