//! Requests and responses that a test holds back until it releases them.

use std::collections::VecDeque;

use parking_lot::Mutex;
use usher_protocol::message::PaymentHash;
use usher_sandbox::lightning::nwc::{NwcRequest, Response};

/// Requests or responses that can be held; the oldest is dropped first.
pub(super) const MAX_HELD: usize = 20_000;

/// Something that waits for a release.
#[derive(Debug)]
pub(super) enum Held {
    /// A response to an executed request.
    Response(NwcRequest, Response),
    /// A request that was not executed yet.
    Request(NwcRequest),
}

/// Everything that is held.
#[derive(Debug, Default)]
pub(super) struct HeldQueue {
    held: Mutex<VecDeque<Held>>,
    payments: Mutex<VecDeque<(PaymentHash, NwcRequest)>>,
}

impl HeldQueue {
    pub(super) fn push(&self, held: Held) {
        push_bounded(&self.held, held);
    }

    /// Holds the request of a payment in flight.
    pub(super) fn push_payment(&self, hash: PaymentHash, request: NwcRequest) {
        push_bounded(&self.payments, (hash, request));
    }

    pub(super) fn take(&self) -> VecDeque<Held> {
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
