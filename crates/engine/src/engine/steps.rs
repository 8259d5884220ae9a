//! Steps: an input meets its operation, and the result is one transaction.
//!
//! Every operation belongs to one worker, which takes its inputs one after the other, in the order they came. Many workers
//! wait for their commits at the same time, and the store commits them together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tracing::{debug, error, warn};
use usher_protocol::EventId;
use usher_protocol::message::WalletMessage;

use super::Engine;
use super::committing::{Change, append};
use super::timers::Alarm;
use crate::operations::{Effect, Input, Operation, Outcome};
use crate::ports::{Conflict, CorrelationKey, InvoiceStatus, KeepAnswer, Revision, StoreError};
use crate::{StreamId, UnixMillis};

/// How many operations step at the same time. Each waits for its commit most of the time; this is how many commits the
/// store can gather into one.
const WORKERS: usize = 64;

/// Inputs that wait for one worker; when it is full, the inbox waits, and then the relays' sockets.
const QUEUE: usize = 256;

/// The first pause before a worker tries again when the store fails; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause after which a worker tries again when the store fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// After how long a subscription's charge is tried again when too many payments are in memory.
const WHEN_FULL: Duration = Duration::from_secs(60);

/// An input on its way to its operation.
pub(super) struct Job {
    id: StreamId,
    input: Input,
    inbound: Option<EventId>,
}

/// What a step comes from: recorded in its transaction.
pub(super) enum Cause {
    /// A call, and its answer when the call is to be done once.
    Call(Option<KeepAnswer>),
    /// Wallets' messages, by their Nostr events, or the operation's timer when there is none.
    Inputs(Vec<EventId>),
}

/// The ways to the workers.
#[derive(Clone)]
pub(super) struct Workers(Vec<mpsc::Sender<Job>>);

impl Workers {
    pub(super) fn new() -> (Self, Vec<mpsc::Receiver<Job>>) {
        let (senders, receivers) = (0..WORKERS).map(|_| mpsc::channel(QUEUE)).unzip();
        (Self(senders), receivers)
    }

    /// Hands a wallet's message to the operation it belongs to.
    pub(super) async fn wallet(&self, id: StreamId, input: Input, event: EventId) {
        self.put(Job { id, input, inbound: Some(event) }).await;
    }

    /// Hands something else to an operation.
    pub(super) async fn input(&self, id: StreamId, input: Input) {
        self.put(Job { id, input, inbound: None }).await;
    }

    /// Wakes an operation.
    pub(super) async fn wake(&self, id: StreamId) {
        self.put(Job { id, input: Input::Timer, inbound: None }).await;
    }

    async fn put(&self, job: Job) {
        // The last bytes of a UUIDv7 are random.
        let worker = usize::from(job.id.as_bytes()[15]) % WORKERS;
        if let Some(worker) = self.0.get(worker) {
            // Fails only when the worker has stopped, that is, when everything stops.
            let _ = worker.send(job).await;
        }
    }
}

impl Engine {
    /// A worker: takes jobs until everything stops, and then those that are still waiting.
    ///
    /// All that waits for one operation is one step and one transaction: a crowd before one door is let in together.
    pub(super) async fn work(self: Arc<Self>, mut jobs: mpsc::Receiver<Job>) {
        let mut waiting = VecDeque::new();
        let mut pause = FIRST_PAUSE;
        loop {
            if waiting.is_empty() {
                tokio::select! {
                    job = jobs.recv() => match job {
                        Some(job) => waiting.push_back(job),
                        None => return,
                    },
                    () = self.drained.cancelled() => match jobs.try_recv() {
                        Ok(job) => waiting.push_back(job),
                        Err(_) => return,
                    },
                }
            }
            while waiting.len() < QUEUE
                && let Ok(job) = jobs.try_recv()
            {
                waiting.push_back(job);
            }
            let Some(id) = waiting.front().map(|job| job.id) else { continue };
            let (mine, others) = waiting.into_iter().partition::<VecDeque<Job>, _>(|job| job.id == id);
            waiting = others;
            let stepped = self.step(id, &mine.iter().collect::<Vec<_>>()).await;
            if !matches!(stepped, Err(StoreError::Failed(_))) {
                mine.iter().for_each(|job| self.wallet.answered(id, &job.input));
            }
            match stepped {
                Ok(()) => pause = FIRST_PAUSE,
                Err(failure @ (StoreError::Unreadable(_) | StoreError::Closed)) => {
                    self.counts.store_failed();
                    error!(stream_id = %id, error = ?failure, "an operation could not step");
                    if matches!(failure, StoreError::Unreadable(_)) {
                        self.set_aside_operation(id, mine.iter().map(|job| &job.input));
                    }
                }
                Err(failure) => {
                    // Kept until the store works again: a wallet may have said it once and for all. At the end of the
                    // line, so that an operation that fails always does not hold up the others.
                    self.counts.store_failed();
                    warn!(stream_id = %id, error = ?failure, "the store failed; trying again");
                    waiting.extend(mine);
                    tokio::select! {
                        () = self.clock.sleep(pause) => {}
                        () = self.stop.cancelled() => return,
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Steps one operation by what waits for it, in order.
    async fn step(&self, id: StreamId, jobs: &[&Job]) -> Result<(), StoreError> {
        loop {
            let stored = match self.store.operation(id).await {
                Ok(Some(stored)) if stored.finished_at.is_none() => stored,
                Ok(_) => return self.close_what_began(id, jobs).await,
                Err(StoreError::Unreadable(_)) => {
                    self.set_aside_operation(id, jobs.iter().map(|job| &job.input));
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            };
            let Ok(mut operation) = Operation::from_state(&stored.state) else {
                self.set_aside_operation(id, jobs.iter().map(|job| &job.input));
                return Ok(());
            };
            let now = self.clock.now();
            let before = operation.correlations();
            let mut effects = Vec::new();
            let mut inbound = Vec::new();
            let mut stepped = false;
            let mut later: &[&Job] = &[];
            for (nth, job) in jobs.iter().enumerate() {
                if job.inbound.is_some_and(|event| inbound.contains(&event)) {
                    continue;
                }
                if self.must_wait(&operation, &job.input) {
                    self.timers.set(now.plus(WHEN_FULL), id, Alarm::Wake);
                    continue;
                }
                match operation.step(&job.input, now) {
                    Outcome::Stepped(more) => {
                        stepped = true;
                        inbound.extend(job.inbound);
                        let finished = more.contains(&Effect::Finish);
                        append(&mut effects, more);
                        if finished {
                            later = jobs.get(nth + 1..).unwrap_or_default();
                            break;
                        }
                    }
                    Outcome::Ignored => self.ignored(job, &operation, now),
                }
            }
            if !stepped {
                return Ok(());
            }
            let claims = operation.correlations().into_iter().filter(|key| !before.contains(key)).collect();
            let change = Change { id, operation, effects, expected: Revision::At(stored.revision), claims };
            match self.commit(change, now, Cause::Inputs(inbound)).await? {
                None if later.is_empty() => return Ok(()),
                None => return Box::pin(self.step(id, later)).await,
                // Somebody else stepped it: look again.
                Some(Conflict::Revision) => {}
                Some(Conflict::InboundSeen) if jobs.len() == 1 => {
                    debug!(stream_id = %id, "a wallet's message came twice");
                    return Ok(());
                }
                // One of them: each for itself.
                Some(Conflict::InboundSeen) => return Box::pin(self.step_each(id, jobs)).await,
                Some(Conflict::Correlation(_)) => match jobs {
                    [Job { input: Input::Taken, .. }] => {
                        return Err(StoreError::Unreadable("a correlation key has two owners"));
                    }
                    [job] => {
                        let taken = Job { id, input: Input::Taken, inbound: job.inbound };
                        return Box::pin(self.step(id, &[&taken])).await;
                    }
                    jobs => return Box::pin(self.step_each(id, jobs)).await,
                },
                Some(Conflict::Answered) => return Err(StoreError::Unreadable("a step has the answer of a call")),
            }
        }
    }

    /// A request that has ended by the user's agreement is not there to be told that the user has closed the subscription;
    /// the subscription is.
    async fn close_what_began(&self, id: StreamId, jobs: &[&Job]) -> Result<(), StoreError> {
        for job in jobs {
            if let Input::Wallet { message: WalletMessage::CloseSubscription(close), .. } = &job.input {
                let key = CorrelationKey::subscription(&close.subscription_id);
                match self.store.operation_with_key(key).await? {
                    Some((began, _)) if began != id => Box::pin(self.step(began, &[job])).await?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// A subscription's charge is a payment: it is not begun while there are too many in memory, and not given up either.
    fn must_wait(&self, operation: &Operation, input: &Input) -> bool {
        matches!((operation, input), (Operation::Subscription(subscription), Input::Timer) if !subscription.is_done())
            && !self.has_room_for_payments()
    }

    async fn step_each(&self, id: StreamId, jobs: &[&Job]) -> Result<(), StoreError> {
        for job in jobs {
            self.step(id, &[job]).await?;
        }
        Ok(())
    }

    /// What an operation makes nothing of, and yet means something.
    fn ignored(&self, job: &Job, operation: &Operation, now: UnixMillis) {
        match (&job.input, operation.wake_at()) {
            // The machine's clock was set back: the operation is woken again when its time has come.
            (Input::Timer, Some(at)) if at > now => self.timers.set(at, job.id, Alarm::Wake),
            (Input::Settled(_) | Input::InvoiceStatus(Ok(InvoiceStatus::Settled(_))), _)
                if operation.watched().is_some() =>
            {
                warn!(
                    stream_id = %job.id,
                    "the wallet reports a settlement of less than the amount, or with a preimage of something else: it is \
                     not believed"
                );
            }
            _ => {}
        }
    }
}
