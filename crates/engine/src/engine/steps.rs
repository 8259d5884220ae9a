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

use super::Engine;
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

/// The first pause before a worker tries again when the store fails; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause after which a worker tries again when the store fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
            match self.step(id, &mine.iter().collect::<Vec<_>>()).await {
                Ok(()) => pause = FIRST_PAUSE,
                Err(failure @ (StoreError::Unreadable(_) | StoreError::Closed)) => {
                    self.counts.store_failed();
                    error!(stream_id = %id, error = ?failure, "an operation could not step");
                }
                Err(failure) => {
                    // Kept until the store works again: a wallet may have said it once and for all. At the end of the
                    // line, so that an operation that fails always does not hold up the others.
                    self.counts.store_failed();
                    warn!(stream_id = %id, error = ?failure, "the store failed; trying again");
                    waiting.extend(mine);
                    tokio::select! {
                        () = self.clock.sleep_until(self.clock.now().plus(pause)) => {}
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
            let Some(stored) = self.store.operation(id).await? else { return Ok(()) };
            if stored.finished_at.is_some() {
                return Ok(());
            }
            let mut operation =
                Operation::from_state(&stored.state).map_err(|_| StoreError::Unreadable("an operation's state"))?;
            let now = self.clock.now();
            let mut effects = Vec::new();
            let mut inbound = Vec::new();
            let mut stepped = false;
            for job in jobs {
                if job.inbound.is_some_and(|event| inbound.contains(&event)) {
                    continue;
                }
                match operation.step(&job.input, now) {
                    Outcome::Stepped(more) => {
                        stepped = true;
                        inbound.extend(job.inbound);
                        let finished = more.contains(&Effect::Finish);
                        if more.iter().any(|effect| matches!(effect, Effect::Send(_))) {
                            // What is sent takes the place of what would have been.
                            effects.retain(|effect| !matches!(effect, Effect::Send(_)));
                        }
                        effects.extend(more);
                        if finished {
                            break;
                        }
                    }
                    Outcome::Ignored => self.woken_early(job, &operation, now),
                }
            }
            if !stepped {
                return Ok(());
            }
            let expected = Revision::At(stored.revision);
            match self.commit(id, &operation, effects, expected, now, Cause::Inputs(inbound)).await? {
                Committed::Done { .. } => return Ok(()),
                // Somebody else stepped it: look again.
                Committed::Conflict(Conflict::Revision) => {}
                Committed::Conflict(Conflict::InboundSeen) if jobs.len() == 1 => {
                    debug!(stream_id = %id, "a wallet's message came twice");
                    return Ok(());
                }
                // One of them: each for itself.
                Committed::Conflict(Conflict::InboundSeen) => {
                    for job in jobs {
                        Box::pin(self.step(id, &[job])).await?;
                    }
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
            Cause::Call(answer) => (Vec::new(), answer),
            Cause::Inputs(events) => (events, None),
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
            done: false,
            watched: None,
            wake_at: operation.wake_at(),
            claims,
            events: Vec::new(),
            outbox: OutboxChange::Keep,
            inbound,
            user_relays: Vec::new(),
            deliver: self.deliveries.is_on(),
            answer,
        };
        let mut messages = Vec::new();
        for effect in effects {
            match effect {
                Effect::Emit(event) => commit.events.push(event),
                Effect::Send(message) => messages.push(message),
                Effect::RememberRelays(relays) => commit.user_relays.push(relays),
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
            for user in user_relays {
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
        let again = (!messages.is_empty()).then(|| now.plus(outgoing::again_after(1, &*self.randomness)));
        let (before, stream) = self.index.change(id, |stream| {
            stream.next_index = next_index;
            stream.wake_at = operation.wake_at();
            if again.is_some() {
                stream.attempts = 1;
                stream.resend_at = again;
            }
        });
        if before.wake_at != stream.wake_at {
            if let Some(at) = before.wake_at {
                self.timers.cancel(at, id, Alarm::Wake);
            }
            if let Some(at) = stream.wake_at {
                self.timers.set(at, id, Alarm::Wake);
            }
        }
        if let Some(at) = again {
            if let Some(before) = before.resend_at {
                self.timers.cancel(before, id, Alarm::Resend);
            }
            self.timers.set(at, id, Alarm::Resend);
        }
        if expected == Revision::New {
            self.index.claim(operation.correlation(), id);
        }
        // Last: the task that sends asks the index whether the operation is still open.
        if !messages.is_empty() {
            self.outgoing.send(id, messages);
        }
    }
}
