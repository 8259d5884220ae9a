//! Workers: apply inputs to their operations; the result of each step is one transaction.
//!
//! Every operation belongs to one worker, which processes its inputs in order. Many workers wait for their commits
//! concurrently, and the store commits them together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tracing::{debug, error, warn};

use super::capacity::Capacity;
use super::commit::{Cause, Change, Committer, append};
use super::damaged_rows::warn_of_lost_results;
use super::input_queue::{Job, QUEUE};
use super::lightning_queue::LightningQueue;
use super::ticket_queue::TicketQueue;
use super::timers::{Due, TimerKind};
use crate::kernel::core::Core;
use crate::machine::{Effect, Input, StepResult};
use crate::ports::{
    Conflict, CurrencyCode, ExchangeRate, ExchangeRates, InvoiceStatus, RateUnavailable, StoreError, Version,
};
use crate::registry::Operation;
use crate::{Requester, StreamId, UnixMillis};

/// The first pause before a worker retries after a store failure; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest such pause.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// When a step that had to wait is retried.
const WAIT: Duration = Duration::from_secs(60);

pub(crate) struct Workers {
    pub(crate) core: Core,
    pub(crate) committer: Arc<Committer>,
    pub(crate) lightning: Arc<LightningQueue>,
    pub(crate) tickets: Arc<TicketQueue>,
    pub(crate) capacity: Capacity,
    pub(crate) rates: Option<Arc<dyn ExchangeRates>>,
}

impl Workers {
    /// Processes jobs until the engine stops and the inbox is drained, and then the queued ones.
    ///
    /// All inputs queued for one operation are one step and one transaction, so a busy operation costs no more commits.
    pub(crate) async fn run(self: Arc<Self>, mut jobs: mpsc::Receiver<Box<Job>>) {
        let mut waiting = VecDeque::new();
        let mut pause = FIRST_PAUSE;
        loop {
            if waiting.is_empty() {
                tokio::select! {
                    job = jobs.recv() => match job {
                        Some(job) => waiting.push_back(job),
                        None => return,
                    },
                    () = self.core.tasks.inbox_drained() => match jobs.try_recv() {
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
            let (mine, others) = waiting.into_iter().partition::<VecDeque<Box<Job>>, _>(|job| job.id == id);
            waiting = others;
            let inputs: Vec<_> = mine.iter().map(AsRef::as_ref).collect();
            // In a box: what a step needs while it waits is ten times what a worker needs between steps.
            let stepped = Box::pin(self.step(id, &inputs)).await;
            if !matches!(stepped, Err(StoreError::Failed(_))) {
                for job in &mine {
                    self.lightning.processed(id, &job.input);
                    self.tickets.processed(id, &job.input);
                }
                self.core.inputs.processed(mine.len());
            }
            match stepped {
                Ok(()) => pause = FIRST_PAUSE,
                Err(StoreError::Unexpected(defect)) => {
                    self.core.metrics.step_was_defective();
                    error!(stream_id = %id, defect, "a defect of the program: an operation could not step. Please report it");
                    warn_of_lost_results(id, mine.iter().map(|job| &job.input));
                }
                Err(failure @ (StoreError::Unreadable(_) | StoreError::Closed)) => {
                    self.core.metrics.store_failed();
                    error!(stream_id = %id, error = ?failure, "an operation could not step");
                    if matches!(failure, StoreError::Unreadable(_)) {
                        self.core.damaged_rows.set_aside_operation(id, mine.iter().map(|job| &job.input));
                    }
                }
                Err(failure) => {
                    // Kept until the store works again, because a wallet may have sent it only once. It is moved to the
                    // end of the queue, so that an operation that always fails does not delay the others.
                    self.core.metrics.store_failed();
                    warn!(stream_id = %id, error = ?failure, "the store failed; trying again");
                    waiting.extend(mine);
                    if self.core.tasks.unless_stopped(self.core.clock.sleep(pause)).await.is_none() {
                        return;
                    }
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }

    /// Steps one operation with its inputs, in order.
    async fn step(&self, id: StreamId, jobs: &[&Job]) -> Result<(), StoreError> {
        let mut recent = self.core.recent_states.take(id);
        loop {
            let is_recent = recent.is_some();
            let (version, mut operation) = match recent.take() {
                Some(state) => state,
                None => match self.read(id).await {
                    Ok(Some(state)) => state,
                    Ok(None) => return self.step_successor(id, jobs).await,
                    Err(StoreError::Unreadable(_)) => {
                        self.core.damaged_rows.set_aside_operation(id, jobs.iter().map(|job| &job.input));
                        return Ok(());
                    }
                    Err(failure) => return Err(failure),
                },
            };
            let now = self.core.clock.now();
            let own = self.core.index.time_of(id, operation.wake_at(), self.core.timers.now(), now);
            let mut at = own;
            let before = operation.correlations();
            let mut effects = Vec::new();
            let mut inbound = Vec::new();
            let mut stepped = false;
            let mut charges = false;
            let mut ignored = Vec::new();
            let mut later: &[&Job] = &[];
            for (nth, job) in jobs.iter().enumerate() {
                if job.inbound.is_some_and(|event| inbound.contains(&event)) {
                    continue;
                }
                if self.must_wait(&operation, &job.input) {
                    self.core.timers.set(Due::Wall(now.plus(WAIT)), id, TimerKind::Wake);
                    continue;
                }
                let time = if operation.is_by_wall_clock(&job.input) { now } else { own };
                let at_rate = operation.charges_in(&job.input).map(|currency| Input::TimerAtRate(self.rate(currency)));
                charges |= at_rate.is_some();
                let is_taken = match operation.named_invoice(&job.input, time) {
                    Some(hash) => self.core.is_unpayable(hash, id).await?,
                    None => false,
                };
                let instead = if is_taken { Some(Input::CorrelationTaken) } else { at_rate };
                match operation.step(instead.as_ref().unwrap_or(&job.input), time) {
                    StepResult::Stepped(more) => {
                        (stepped, at) = (true, time);
                        inbound.extend(job.inbound);
                        let finished = more.contains(&Effect::Finish);
                        append(&mut effects, more);
                        if finished {
                            later = jobs.get(nth + 1..).unwrap_or_default();
                            break;
                        }
                    }
                    StepResult::Ignored => ignored.push((job, time)),
                }
            }
            if !stepped && is_recent {
                // The stored state may differ.
                continue;
            }
            for (job, time) in ignored {
                self.ignored(job, &operation, time);
            }
            if !stepped {
                return Ok(());
            }
            let claims = operation.correlations().into_iter().filter(|key| !before.contains(key)).collect();
            let step = Change::step(id, version, operation, effects);
            let change = Change { claims, at: Some(at), ..step };
            match self.committer.commit(change, now, Cause::Inputs(inbound)).await? {
                None if later.is_empty() => {
                    if charges {
                        self.wake_again(id, now);
                    }
                    return Ok(());
                }
                None => return Box::pin(self.step(id, later)).await,
                // Another task stepped it meanwhile: it is read again.
                Some(Conflict::Revision) => {}
                Some(Conflict::InboundSeen) if jobs.len() == 1 => {
                    debug!(stream_id = %id, "a wallet's message came twice");
                    return Ok(());
                }
                // One of several inputs: each is applied separately.
                Some(Conflict::InboundSeen) => return Box::pin(self.step_each(id, jobs)).await,
                Some(Conflict::Correlation(_)) => match jobs {
                    [Job { input: Input::CorrelationTaken, .. }] => {
                        return Err(StoreError::Unexpected("a correlation key has two owners"));
                    }
                    [job] => {
                        let taken = Job { id, input: Input::CorrelationTaken, inbound: job.inbound };
                        return Box::pin(self.step(id, &[&taken])).await;
                    }
                    jobs => return Box::pin(self.step_each(id, jobs)).await,
                },
                Some(Conflict::AlreadyRequested) => {
                    return Err(StoreError::Unexpected("a step has the response to a request"));
                }
            }
        }
    }

    async fn read(&self, id: StreamId) -> Result<Option<(Version, Operation)>, StoreError> {
        let stored = self.core.store.operation(&Requester::Service, id).await?;
        let Some(stored) = stored.filter(|stored| stored.finished_at.is_none()) else { return Ok(None) };
        let operation =
            Operation::from_state(&stored.state).map_err(|_| StoreError::Unreadable("the state of an operation"))?;
        Ok(Some((stored.version(), operation)))
    }

    async fn step_each(&self, id: StreamId, jobs: &[&Job]) -> Result<(), StoreError> {
        for job in jobs {
            self.step(id, &[job]).await?;
        }
        Ok(())
    }

    /// Handles inputs of an ended operation: another one, which it started, may have its correlation key, and gets the
    /// wallet's message.
    async fn step_successor(&self, id: StreamId, jobs: &[&Job]) -> Result<(), StoreError> {
        for job in jobs {
            let Input::Wallet { message, .. } = &job.input else { continue };
            for key in Operation::keys_of(message) {
                match self.core.store.operation_with_key(&Requester::Service, key).await? {
                    Some((successor, _)) if successor != id => Box::pin(self.step(successor, &[job])).await?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Whether the payment that this step starts must wait: too many payments are in memory, or the clock may be wrong.
    fn must_wait(&self, operation: &Operation, input: &Input) -> bool {
        operation.starts_payment(input) && (!self.capacity.has_room_for_payments() || self.core.timers.are_held())
    }

    /// Wakes a subscription again whose charge ended in the step that began it: the next charge may have the same due
    /// time, whose timer has fired.
    fn wake_again(&self, id: StreamId, now: UnixMillis) {
        if let Some(wake) = self.core.index.get(id).and_then(|stream| stream.wake).filter(|wake| wake.at <= now) {
            self.core.timers.set(wake.due, id, TimerKind::Wake);
        }
    }

    fn rate(&self, currency: CurrencyCode) -> Result<ExchangeRate, RateUnavailable> {
        let none = || RateUnavailable {
            currency,
            reason: "no sources are configured (rates.sources)".to_owned(),
            retry_after: WAIT,
        };
        self.rates.as_ref().ok_or_else(none)?.rate(currency)
    }

    /// Handles the other effects of inputs that do not change the operation.
    fn ignored(&self, job: &Job, operation: &Operation, now: UnixMillis) {
        match &job.input {
            // The timer is early: the wall clock was just set back, or the timer was of an earlier state. Setting the
            // current timer again changes nothing then.
            Input::Timer => {
                if let Some(wake) = self.core.index.get(job.id).and_then(|stream| stream.wake)
                    && operation.wake_at() == Some(wake.at)
                    && now < wake.at
                {
                    self.core.timers.set(wake.due, job.id, TimerKind::Wake);
                }
            }
            Input::Settled(_) | Input::InvoiceStatus(Ok(InvoiceStatus::Settled(_)))
                if operation.watched().is_some() =>
            {
                warn!(
                    stream_id = %job.id,
                    "the Lightning backend reports a settlement of less than the amount, or with a preimage of another \
                     invoice: it is not believed"
                );
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::commit::tests::committer;
    use crate::kernel::fixtures::{Around, NOW, stream, within};
    use crate::login::key_handshake::KeyHandshake;
    use crate::testing::COMMITS;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A worker for the inputs of an engine with one handshake, which expires in a minute.
    async fn worker(around: &Around, core: Core) -> mpsc::Sender<Box<Job>> {
        let (committer, lightning, tickets) = committer(around);
        let handshake = Operation::KeyHandshake(KeyHandshake::single_use("token".to_owned(), false, NOW.plus(MINUTE)));
        let change = Change::start(stream(1), None, handshake, Vec::new());
        committer.commit(change, NOW, Cause::Request(None)).await.unwrap();
        let workers = Arc::new(Workers {
            core: core.clone(),
            committer,
            lightning,
            tickets,
            capacity: Capacity::new(Arc::clone(&around.index), 10),
            rates: None,
        });
        let (inputs, jobs) = mpsc::channel(8);
        core.tasks.spawn(workers.run(jobs));
        inputs
    }

    fn timer() -> Box<Job> {
        Box::new(Job { id: stream(1), input: Input::Timer, inbound: None })
    }

    #[tokio::test]
    async fn input_is_kept_until_the_store_recovers() {
        let around = Around::new();
        let inputs = worker(&around, around.core()).await;
        around.clock.turn(MINUTE);
        let commits = around.store.calls(COMMITS);
        around.store.fail(COMMITS, 3);
        inputs.send(timer()).await.unwrap();
        within("the handshake expires", || {
            around.clock.turn(FIRST_PAUSE);
            around.index.get(stream(1)).is_none().then_some(())
        })
        .await;
        assert_eq!(around.store.calls(COMMITS), commits + 4);
    }

    #[tokio::test]
    async fn defect_of_the_program_is_no_damage() {
        let around = Around::new();
        let core = around.core();
        let inputs = worker(&around, core.clone()).await;
        around.clock.turn(MINUTE);
        around.store.find_defects(COMMITS);
        inputs.send(timer()).await.unwrap();
        within("the step fails", || (core.metrics.values().step_defects == 1).then_some(())).await;
        assert_eq!((core.damaged_rows.rows(), core.metrics.values().store_failures), (Vec::new(), 0));
        around.store.work();
        inputs.send(timer()).await.unwrap();
        within("the handshake expires", || around.index.get(stream(1)).is_none().then_some(())).await;
    }

    #[tokio::test]
    async fn early_timer_is_set_again() {
        let around = Around::new();
        let inputs = worker(&around, around.core()).await;
        around.timers.cancel(around.timers.after(MINUTE), stream(1), TimerKind::Wake);
        inputs.send(timer()).await.unwrap();
        within("the input is taken", || (inputs.capacity() == 8).then_some(())).await;
        assert_eq!(around.timers_after(MINUTE).await, [(stream(1), TimerKind::Wake)]);
    }

    #[tokio::test]
    async fn operation_times_out_in_time_although_the_clock_was_set_back() {
        let around = Around::new();
        let inputs = worker(&around, around.core()).await;
        around.clock.turn_back(60 * MINUTE);
        assert_eq!(around.timers_after(MINUTE).await, [(stream(1), TimerKind::Wake)]);
        inputs.send(timer()).await.unwrap();
        within("the handshake expires", || around.index.get(stream(1)).is_none().then_some(())).await;
    }
}
