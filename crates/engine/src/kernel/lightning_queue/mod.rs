//! The queue of requests to the Lightning backend.
//!
//! A request is made once, after the commit that contains it, and its reply becomes an input of the operation. If a
//! reply is lost in a crash, the operation repeats the request after a time-out.
//!
//! A payment is two requests: the first signs, and once the signed request is stored, the second sends it. Both share a
//! permit, so nothing delays the write to the socket after the commit.

mod call;
mod call_queue;
mod failed_call;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use self::call_queue::{CallKind, CallQueue};
use self::failed_call::failed;
use super::lightning_metrics::LightningMetrics;
use crate::StreamId;
use crate::kernel::core::Core;
use crate::machine::{Input, LightningRequest};
use crate::ports::{Lightning, LightningError, LightningNode};

/// Concurrent requests, except payments and unattended ones.
const CONCURRENT: usize = 64;

/// Concurrent requests for which no user waits: monthly subscriptions fall due together and must not delay checkouts.
const CONCURRENT_UNATTENDED: usize = 16;

/// Concurrent payments, in a separate queue, because payees can delay payments.
const CONCURRENT_PAYMENTS: usize = 32;

/// The service's own Lightning backend.
#[derive(Clone)]
pub struct LightningBackend {
    /// Its adapter.
    pub adapter: Arc<dyn Lightning>,
    /// Its name in the configuration (`wallet.ln_backend`).
    pub name: &'static str,
    /// The same as a node, if the service runs it itself.
    pub node: Option<Arc<dyn LightningNode>>,
}

pub(crate) struct LightningQueue {
    core: Core,
    backend: Option<Arc<dyn Lightning>>,
    /// The same as a node, if the service runs it itself.
    node: Option<Arc<dyn LightningNode>>,
    metrics: Arc<LightningMetrics>,
    calls: CallQueue,
    unattended: CallQueue,
    payments: CallQueue,
    /// Payments to send now: those with permits, and after a start those whose replies were lost.
    sends: mpsc::UnboundedSender<PaymentToSend>,
    /// Requests that are queued, in progress, or whose reply is not processed yet; they are not repeated.
    pending: Mutex<HashSet<(StreamId, CallKind)>>,
    /// The permits of payments whose request is signed and is about to be stored and sent.
    prepared: Mutex<HashMap<StreamId, OwnedSemaphorePermit>>,
}

pub(crate) struct QueuedCalls {
    calls: mpsc::Receiver<(StreamId, LightningRequest)>,
    unattended: mpsc::Receiver<(StreamId, LightningRequest)>,
    payments: mpsc::Receiver<(StreamId, LightningRequest)>,
    sends: mpsc::UnboundedReceiver<PaymentToSend>,
}

type PaymentToSend = (StreamId, LightningRequest, Option<OwnedSemaphorePermit>);

impl LightningQueue {
    pub(crate) fn new(
        core: Core,
        backend: Option<Arc<dyn Lightning>>,
        node: Option<Arc<dyn LightningNode>>,
        metrics: Arc<LightningMetrics>,
    ) -> (Self, QueuedCalls) {
        let (calls, queued) = CallQueue::new();
        let (unattended, queued_unattended) = CallQueue::new();
        let (payments, queued_payments) = CallQueue::new();
        let (sends, queued_sends) = mpsc::unbounded_channel();
        let queue = Self {
            core,
            backend,
            node,
            metrics,
            calls,
            unattended,
            payments,
            sends,
            pending: Mutex::default(),
            prepared: Mutex::default(),
        };
        let queued = QueuedCalls {
            calls: queued,
            unattended: queued_unattended,
            payments: queued_payments,
            sends: queued_sends,
        };
        (queue, queued)
    }

    /// Queues a request; never waits. If the queue is full, the operation gets [`LightningError::NotSent`] as the
    /// reply. `unattended`: no user waits for it.
    pub(crate) fn put(&self, id: StreamId, call: LightningRequest, unattended: bool) {
        let queue = match CallKind::of(&call) {
            // It had its turn when its request was signed, and still has the permit.
            None => {
                let permit = self.prepared.lock().remove(&id);
                // Closed: the engine is stopping.
                let _ = self.sends.send((id, call, permit));
                return;
            }
            // The operation repeats a request that is still pending.
            Some(kind) if !self.pending.lock().insert((id, kind)) => return,
            Some(CallKind::PreparedPayment) => &self.payments,
            Some(_) if unattended => &self.unattended,
            Some(_) => &self.calls,
        };
        let Some(call) = queue.put(id, call) else { return };
        let input = failed(&call, || LightningError::NotSent);
        let inputs = self.core.inputs.clone();
        self.core.tasks.spawn(async move { inputs.put(id, input).await });
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.lock().is_empty()
    }

    /// Called when the operation has processed this input: if it was a reply, the request may be repeated.
    pub(crate) fn processed(&self, id: StreamId, input: &Input) {
        if let Some(kind) = CallKind::of_reply(input) {
            self.pending.lock().remove(&(id, kind));
        }
        if matches!(input, Input::PaymentPrepared(_)) {
            // Present if the request was not sent.
            self.prepared.lock().remove(&id);
        }
    }

    pub(crate) async fn run(self: Arc<Self>, queued: QueuedCalls) {
        let QueuedCalls { calls, unattended, payments, sends } = queued;
        tokio::join!(
            self.run_queue(calls, CONCURRENT),
            self.run_queue(unattended, CONCURRENT_UNATTENDED),
            self.run_queue(payments, CONCURRENT_PAYMENTS),
            self.send_payments(sends)
        );
    }

    async fn send_payments(self: &Arc<Self>, mut sends: mpsc::UnboundedReceiver<PaymentToSend>) {
        while let Some(Some((id, call, permit))) = self.core.tasks.unless_stopped(sends.recv()).await {
            self.make_call(id, call, permit);
        }
    }

    async fn run_queue(self: &Arc<Self>, mut calls: mpsc::Receiver<(StreamId, LightningRequest)>, concurrent: usize) {
        let permits = Arc::new(Semaphore::new(concurrent));
        while let Some(Some((id, call))) = self.core.tasks.unless_stopped(calls.recv()).await {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            // The operation may have ended while its request was queued.
            if self.core.index.get(id).is_none() {
                if let Some(kind) = CallKind::of(&call) {
                    self.pending.lock().remove(&(id, kind));
                }
                continue;
            }
            self.make_call(id, call, Some(permit));
        }
    }

    fn make_call(self: &Arc<Self>, id: StreamId, call: LightningRequest, permit: Option<OwnedSemaphorePermit>) {
        let queue = Arc::clone(self);
        self.core.tasks.spawn(async move {
            // A reply lost when the engine stops is requested again after the next start.
            let Some(input) = queue.core.tasks.unless_stopped(queue.call_guarded(id, call)).await else { return };
            match permit {
                Some(permit) if matches!(input, Input::PaymentPrepared(Ok(_))) => {
                    queue.prepared.lock().insert(id, permit);
                }
                permit => drop(permit),
            }
            queue.core.inputs.put(id, input).await;
        });
    }
}

#[cfg(test)]
mod tests;
