//! The queue of requests to the ticket wallet.
//!
//! A request is made once, after the commit that contains it, and its reply becomes an input of the operation. If a
//! reply is lost in a crash, the operation repeats the request; the job's id is derived from its stream, so the ticket
//! wallet continues the job.
//!
//! Each mint has its own lanes, with a limit on running requests, so that an unresponsive mint delays no other. Checks
//! of spent tokens have separate lanes, because many of one mint become one request.

mod call;
mod call_kind;
mod lanes;

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

pub(crate) use self::call::redeem_job;
use self::call_kind::{CallKind, failed};
use self::lanes::{Entry, Lanes, Limits};
use super::ticket_metrics::TicketMetrics;
use crate::StreamId;
use crate::kernel::core::Core;
use crate::machine::{Input, TicketCall};
use crate::ports::{TicketError, TicketWallet};

/// Jobs: 16 running per mint, and in total the number that sixteen unresponsive mints can hold up.
const JOBS: Limits = Limits { of_one_mint: 16, running: 256, waiting: 4096 };

/// Checks whether a token is spent: per mint, as many as the ticket wallet puts into a few requests.
const CHECKS: Limits = Limits { of_one_mint: 256, running: 1024, waiting: 4096 };

pub(crate) struct TicketQueue {
    core: Core,
    wallet: Option<Arc<dyn TicketWallet>>,
    metrics: Arc<TicketMetrics>,
    jobs: Lanes,
    checks: Lanes,
    /// Requests that are queued, in progress, or whose reply is not processed yet; they are not repeated.
    pending: Mutex<HashSet<(StreamId, CallKind)>>,
}

impl TicketQueue {
    pub(crate) fn new(core: Core, wallet: Option<Arc<dyn TicketWallet>>, metrics: Arc<TicketMetrics>) -> Arc<Self> {
        let (jobs, checks) = (Lanes::new(JOBS), Lanes::new(CHECKS));
        Arc::new(Self { core, wallet, metrics, jobs, checks, pending: Mutex::default() })
    }

    /// Queues a request; never waits. If its lane is full, the operation gets [`TicketError::Overloaded`] as the reply.
    pub(crate) fn put(self: &Arc<Self>, id: StreamId, call: TicketCall) {
        let kind = CallKind::of(&call);
        if !self.pending.lock().insert((id, kind)) {
            // The operation repeats a request that is still pending.
            return;
        }
        match self.lanes(kind).enter(id, call) {
            Entry::Run(call) => self.run(id, call),
            Entry::Waiting => {}
            Entry::Full(call) => {
                let (inputs, input) = (self.core.inputs.clone(), failed(&call, TicketError::Overloaded));
                self.core.tasks.spawn(async move { inputs.put(id, input).await });
            }
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.lock().is_empty()
    }

    /// Called when the operation has processed this input: if it was a reply, the request may be repeated.
    pub(crate) fn processed(&self, id: StreamId, input: &Input) {
        if let Input::Ticket(reply) = input {
            self.pending.lock().remove(&(id, CallKind::of_reply(reply)));
        }
    }

    const fn lanes(&self, kind: CallKind) -> &Lanes {
        match kind {
            CallKind::Mint | CallKind::Redeem | CallKind::Verify => &self.jobs,
            CallKind::GiveUp | CallKind::CheckState => &self.checks,
        }
    }

    fn run(self: &Arc<Self>, id: StreamId, call: TicketCall) {
        let queue = Arc::clone(self);
        self.core.tasks.spawn(async move {
            let mut next = Some((id, call));
            while let Some((id, call)) = next {
                let (kind, mint_url) = (CallKind::of(&call), call.mint_url().to_owned());
                // The operation may have ended while its request was queued.
                if queue.core.index.get(id).is_none() {
                    queue.pending.lock().remove(&(id, kind));
                } else {
                    // A reply lost when the engine stops is requested again after the next start.
                    let Some(input) = queue.core.tasks.unless_stopped(queue.call_guarded(id, call)).await else {
                        return;
                    };
                    queue.core.inputs.put(id, input).await;
                }
                next = queue.lanes(kind).leave(&mint_url);
            }
        });
    }
}

#[cfg(test)]
mod tests;
