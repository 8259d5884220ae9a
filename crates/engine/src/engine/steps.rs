//! Steps: an input meets its operation, and the result is one transaction.
//!
//! Every operation belongs to one worker, which takes its inputs one after the other, in the order they came. Many workers
//! wait for their commits at the same time, and the store commits them together.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tracing::{debug, error, warn};
use usher_protocol::EventId;

use super::Engine;
use super::index::OpenStream;
use super::outgoing;
use super::timers::Alarm;
use crate::event::{Event, NewEvent};
use crate::operations::{Effect, Input, Operation, Outcome};
use crate::ports::{Commit, Committed, Conflict, KeepAnswer, OutboxChange, OutboxMessage, Revision, StoreError};
use crate::{StreamId, UnixMillis};

/// How many operations step at the same time. Each waits for its commit most of the time; this is how many commits the
/// store can gather into one.
const WORKERS: usize = 64;

/// Inputs that wait for one worker; when it is full, the inbox waits, and then the relays' sockets.
const QUEUE: usize = 256;

/// How long an input is tried again when the store fails, before it is given up.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

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
    /// A wallet's message.
    Wallet(EventId),
    /// The operation's timer.
    Timer,
}

/// The ways to the workers.
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
    pub(super) async fn work(self: Arc<Self>, mut jobs: mpsc::Receiver<Job>) {
        loop {
            let job = tokio::select! {
                job = jobs.recv() => job,
                () = self.drained.cancelled() => break,
            };
            let Some(job) = job else { return };
            self.do_job(&job).await;
        }
        jobs.close();
        while let Some(job) = jobs.recv().await {
            self.do_job(&job).await;
        }
    }

    async fn do_job(&self, job: &Job) {
        let since = self.clock.now();
        let mut pause = Duration::from_millis(50);
        while let Err(failure) = self.step(job).await {
            self.counts.store_failed();
            let tried_for = self.clock.now().since(since);
            if matches!(failure, StoreError::Unreadable(_) | StoreError::Closed) || tried_for >= GIVE_UP_AFTER {
                error!(stream_id = %job.id, error = ?failure, "an operation could not step");
                return;
            }
            warn!(stream_id = %job.id, error = ?failure, "the store failed; trying again");
            tokio::select! {
                () = self.clock.sleep_until(self.clock.now().plus(pause)) => {}
                () = self.stop.cancelled() => return,
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    async fn step(&self, job: &Job) -> Result<(), StoreError> {
        loop {
            let Some(stored) = self.store.operation(job.id).await? else { return Ok(()) };
            if stored.finished_at.is_some() {
                return Ok(());
            }
            let mut operation =
                Operation::from_state(&stored.state).map_err(|_| StoreError::Unreadable("an operation's state"))?;
            let now = self.clock.now();
            let effects = match operation.step(&job.input, now) {
                Outcome::Stepped(effects) => effects,
                Outcome::Ignored => {
                    self.woken_early(job, &operation, now);
                    return Ok(());
                }
            };
            let expected = Revision::At(stored.revision);
            let cause = job.inbound.map_or(Cause::Timer, Cause::Wallet);
            match self.commit(job.id, &operation, effects, expected, now, cause).await? {
                Committed::Done { .. } => return Ok(()),
                // Somebody else stepped it: look again.
                Committed::Conflict(Conflict::Revision) => {}
                Committed::Conflict(Conflict::InboundSeen) => {
                    debug!(stream_id = %job.id, "a wallet's message came twice");
                    return Ok(());
                }
                Committed::Conflict(Conflict::Correlation(_)) => {
                    return Err(StoreError::Unreadable("a correlation key has two owners"));
                }
                Committed::Conflict(Conflict::Answered) => {
                    return Err(StoreError::Unreadable("a step has the answer of a call"));
                }
            }
        }
    }

    /// The machine's clock was set back: the operation is woken again when its time has come.
    fn woken_early(&self, job: &Job, operation: &Operation, now: UnixMillis) {
        if let (Input::Timer, Some(at)) = (&job.input, operation.wake_at())
            && at > now
        {
            self.timers.set(at, job.id, Alarm::Wake);
        }
    }

    /// Commits a step, and when it is durable lets its effects take place.
    pub(super) async fn commit(
        &self,
        id: StreamId,
        operation: &Operation,
        effects: Vec<Effect>,
        expected: Revision,
        now: UnixMillis,
        cause: Cause,
    ) -> Result<Committed, StoreError> {
        let (inbound, answer) = match cause {
            Cause::Call(answer) => (None, answer),
            Cause::Wallet(event) => (Some(event), None),
            Cause::Timer => (None, None),
        };
        let state = operation.to_state().map_err(|_| StoreError::Unreadable("an operation's state"))?;
        let claims = if expected == Revision::New { vec![operation.correlation()] } else { Vec::new() };
        let mut commit = Commit {
            operation: id,
            kind: operation.kind(),
            expected,
            at: now,
            state,
            finished: false,
            wake_at: operation.wake_at(),
            claims,
            events: Vec::new(),
            outbox: OutboxChange::Keep,
            inbound,
            user_relays: None,
            deliver: self.deliveries.is_on(),
            answer,
        };
        let mut messages = Vec::new();
        for effect in effects {
            match effect {
                Effect::Emit(event) => commit.events.push(event),
                Effect::Send(message) => messages.push(message),
                Effect::RememberRelays(relays) => commit.user_relays = Some(relays),
                Effect::Finish => commit.finished = true,
            }
        }
        if !messages.is_empty() {
            commit.outbox = OutboxChange::Replace(messages.clone());
        }
        let (finished, events) = (commit.finished, commit.events.clone());
        let user_relays = commit.user_relays.clone();
        let committed = self.store.commit(commit).await?;
        if let Committed::Done { next_index, .. } = committed {
            self.count(operation, expected, finished, &events);
            if let Some(user) = user_relays {
                self.outgoing.forget_user(&user.main_key);
            }
            if finished {
                self.finish(id, operation, next_index, &events);
            } else {
                self.go_on(id, operation, expected, next_index, messages, now);
            }
            if !events.is_empty() {
                self.waiters.wake(id);
                self.feed.show(id, next_index, &events);
                self.deliver_soon(id, now);
            }
        }
        Ok(committed)
    }

    fn count(&self, operation: &Operation, expected: Revision, finished: bool, events: &[NewEvent]) {
        if expected == Revision::New {
            self.counts.started(operation.kind());
        }
        if finished {
            self.counts.finished(operation.kind(), events);
        }
        self.counts.events(events);
    }

    fn finish(&self, id: StreamId, operation: &Operation, next_index: u64, events: &[NewEvent]) {
        if next_index == events.len() as u64 {
            // All of the stream's events are of this step.
            let whole: Vec<Event> = (0..).zip(events).map(|(index, event)| event.clone().at_index(index)).collect();
            self.finished.put(id, &whole);
        }
        if let Some(stream) = self.index.remove(id, operation.correlation()) {
            if let Some(at) = stream.wake_at {
                self.timers.cancel(at, id, Alarm::Wake);
            }
            if let Some(at) = stream.resend_at {
                self.timers.cancel(at, id, Alarm::Resend);
            }
        }
    }

    fn go_on(
        &self,
        id: StreamId,
        operation: &Operation,
        expected: Revision,
        next_index: u64,
        messages: Vec<OutboxMessage>,
        now: UnixMillis,
    ) {
        let before = self.index.get(id).unwrap_or_default();
        let mut stream = OpenStream { next_index, wake_at: operation.wake_at(), ..before };
        if before.wake_at != stream.wake_at {
            if let Some(at) = before.wake_at {
                self.timers.cancel(at, id, Alarm::Wake);
            }
            if let Some(at) = stream.wake_at {
                self.timers.set(at, id, Alarm::Wake);
            }
        }
        if !messages.is_empty() {
            if let Some(at) = before.resend_at {
                self.timers.cancel(at, id, Alarm::Resend);
            }
            let again = now.plus(outgoing::again_after(1, &*self.randomness));
            stream.attempts = 1;
            stream.resend_at = Some(again);
            self.timers.set(again, id, Alarm::Resend);
        }
        self.index.put(id, stream);
        if expected == Revision::New {
            self.index.claim(operation.correlation(), id);
        }
        // Last: the task that sends asks the index whether the operation is still open.
        if !messages.is_empty() {
            self.outgoing.send(id, messages);
        }
    }
}
