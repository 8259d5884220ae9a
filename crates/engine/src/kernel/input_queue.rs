//! The queue of inputs, the only way to step an operation: parts add inputs for operations, and the
//! [workers](super::operation_workers) process them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use usher_protocol::EventId;

use crate::StreamId;
use crate::machine::Input;

/// The number of workers: how many operations step concurrently, and how many commits the store can group.
const WORKERS: usize = 64;

/// Inputs queued for one worker. When a queue is full, the inbox waits, and then the relays' sockets.
pub(crate) const QUEUE: usize = 256;

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: StreamId,
    pub(crate) input: Input,
    /// The Nostr event that brought it, if any: recorded with the step, so that it is handled once.
    pub(crate) inbound: Option<EventId>,
}

#[derive(Clone)]
pub(crate) struct InputQueue {
    /// Boxed jobs: a channel has room for 32 from its start.
    workers: Arc<[mpsc::Sender<Box<Job>>]>,
    /// Inputs that are queued or being processed.
    in_hand: Arc<AtomicUsize>,
}

impl InputQueue {
    pub(crate) fn new() -> (Self, Vec<mpsc::Receiver<Box<Job>>>) {
        let (senders, receivers): (Vec<_>, _) = (0..WORKERS).map(|_| mpsc::channel(QUEUE)).unzip();
        (Self { workers: senders.into(), in_hand: Arc::default() }, receivers)
    }

    pub(crate) async fn put_message(&self, id: StreamId, input: Input, event: EventId) {
        self.queue(Job { id, input, inbound: Some(event) }).await;
    }

    pub(crate) async fn put(&self, id: StreamId, input: Input) {
        self.queue(Job { id, input, inbound: None }).await;
    }

    /// All inputs of an operation are queued for the same worker, in order.
    async fn queue(&self, job: Job) {
        // The last bytes of a UUIDv7 are random.
        let worker = usize::from(job.id.as_bytes()[15]) % WORKERS;
        if let Some(worker) = self.workers.get(worker) {
            self.in_hand.fetch_add(1, Ordering::AcqRel);
            // Fails only when the worker has ended because the engine stops.
            let _ = worker.send(Box::new(job)).await;
        }
    }

    /// So many inputs are processed.
    pub(crate) fn processed(&self, inputs: usize) {
        self.in_hand.fetch_sub(inputs, Ordering::AcqRel);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_hand.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn inputs_of_an_operation_stay_in_order() {
        let mine = StreamId::from_parts(0, [1; 10]);
        let (inputs, mut workers) = InputQueue::new();
        inputs.put(mine, Input::Timer).await;
        inputs.put_message(mine, Input::Resumed, EventId::from_byte_array([7; 32])).await;
        let mut jobs = workers.iter_mut().flat_map(|worker| std::iter::from_fn(|| worker.try_recv().ok()));
        let mut next = || jobs.next().map(|job| (job.id == mine, job.input, job.inbound.is_some()));
        assert!(matches!(next(), Some((true, Input::Timer, false))));
        assert!(matches!(next(), Some((true, Input::Resumed, true))));
        assert!(jobs.next().is_none());
    }
}
