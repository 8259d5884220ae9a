//! The state shared by all jobs, and how callers start jobs and wait for them.

use std::sync::Arc;
use std::time::Duration;

use cashu::nuts::nut01::SecretKey;
use cashu::{KeySetInfo, Keys};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, CounterAdvance, MintAuthToken, StoreError, TicketCommit, TicketCommitted, TicketConflict, TicketError,
    TicketJobId, TicketStore, Token,
};
use usher_engine::{Origin, UnixMillis};

use crate::TicketOptions;
use crate::job_failure::{Failure, Refusal};
use crate::mint_auth_tokens::MintTokens;
use crate::mint_error::MintError;
use crate::mint_seeds::{Owner, Seeds};
use crate::mints::{Mint, Mints};
use crate::outputs::{OutputError, Outputs};
use crate::running_jobs::{Added, Caller, Entry, Jobs, Limits, Progress, Waiter};
use crate::stored_job::{Ending, Job, Stage, Terms, plain_commit};

/// How long a repeated request waits until the payment of a quote is noticed.
const PAYMENT_WAIT: Duration = Duration::from_secs(10);

/// How long a caller who pays a quote is expected to keep asking: a payment takes up to a minute.
const PAYMENT_TIME: Duration = Duration::from_secs(120);

/// How long a caller who was promised the token waits for its commit.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

/// How long a caller waits for a job whose inputs are pending: the mint may be processing its request.
const PENDING_WAIT: Duration = Duration::from_secs(5);

/// How long [`Core::abandon_quote`] waits for the job to end.
const ABANDON_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct Core {
    pub(crate) store: Arc<dyn TicketStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: TicketOptions,
    pub(crate) seeds: Seeds,
    /// The service's own key, to which tokens may be locked.
    pub(crate) key: SecretKey,
    pub(crate) mints: Mints,
    pub(crate) tokens: MintTokens,
    pub(crate) jobs: Jobs,
    pub(crate) tasks: TaskTracker,
    /// Jobs stop before their next attempt.
    pub(crate) closing: CancellationToken,
    /// Jobs stop immediately.
    pub(crate) aborting: CancellationToken,
}

pub(crate) enum Start {
    /// The job is new, or has failed without effect: `expected` is its revision.
    New { terms: Terms, expected: u64 },
    /// The job is stored.
    Stored(Job),
}

/// Why a job's task stops.
pub(crate) enum AttemptError {
    /// The wallet closes, or a fail point stops the task.
    Stopped,
    /// The job was not started.
    Refused(Refusal),
    /// The attempt failed and is repeated.
    Mint(MintError),
    /// The store failed, or another task or process changed the job: it is read again.
    Stale,
}

impl From<MintError> for AttemptError {
    fn from(error: MintError) -> Self {
        Self::Mint(error)
    }
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "the ticket wallet's records cannot be written or read");
        Self::Stale
    }
}

impl From<Refusal> for AttemptError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A fail point at which tests abort the process or stop the job's task.
macro_rules! edge {
    ($name:literal) => {
        fail::fail_point!($name, |action: Option<String>| {
            if action.as_deref() == Some("abort") {
                std::process::abort();
            }
            Err($crate::job_runtime::AttemptError::Stopped)
        });
    };
}
pub(crate) use edge;

pub(crate) enum JobResult {
    Ended(Ending),
    PaymentNeeded { invoice: String, expires_at: Option<UnixMillis> },
}

impl Core {
    /// Starts the job, or joins or repeats it, and waits for its result.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        id: TicketJobId,
        terms: Terms,
        origin: Option<Origin>,
    ) -> Result<JobResult, TicketError> {
        let fingerprint = terms.fingerprint();
        let (waiter, joined) = loop {
            if let Some(entry) = self.jobs.get(id) {
                if entry.has_ended() {
                    // Its task removes it next. A failed job must start again instead of returning its old result.
                    tokio::task::yield_now().await;
                    continue;
                }
                if entry.fingerprint != fingerprint {
                    return Err(TicketError::OtherJob);
                }
                if let Some(auth) = terms.auth() {
                    entry.offer_auth(auth);
                }
                break (entry.wait(), true);
            }
            let (start, limits) = match self.store.ticket_job(id).await? {
                None => (Start::New { terms: terms.clone(), expected: 0 }, Some(self.limits())),
                Some(stored) => {
                    let job = Job::read(&stored)?;
                    let has_failed = matches!(job.ending(), Some(Ending::Failed { .. }));
                    if job.record.fingerprint != fingerprint && !has_failed {
                        return Err(TicketError::OtherJob);
                    }
                    match job.ending() {
                        // A failure has changed nothing, so the same id may also be used with a corrected request.
                        Some(Ending::Failed { again, .. }) if *again || job.record.fingerprint != fingerprint => {
                            (Start::New { terms: terms.clone(), expected: job.revision }, Some(self.limits()))
                        }
                        Some(ending) => return result(Ok(ending.clone())),
                        // Interrupted before it had a quote.
                        None if matches!(job.record.stage, Stage::Intent(_)) => {
                            (Start::New { terms: terms.clone(), expected: job.revision }, Some(self.limits()))
                        }
                        None => (Start::Stored(job), None),
                    }
                }
            };
            if let Some(waiter) = self.start(id, &fingerprint, terms.mint_url(), Some(Caller(origin)), start, limits)? {
                break (waiter, false);
            }
        };
        self.wait(waiter, joined).await
    }

    fn limits(&self) -> Limits {
        Limits { per_mint: self.options.max_jobs_per_mint, in_all: self.options.max_jobs }
    }

    /// Starts the task of a job; `None` if it is already running, or without a caller.
    pub(crate) fn start(
        self: &Arc<Self>,
        id: TicketJobId,
        fingerprint: &str,
        mint_url: &str,
        caller: Option<Caller>,
        start: Start,
        limits: Option<Limits>,
    ) -> Result<Option<Waiter>, Refusal> {
        let Some(Added { entry, waiter }) = self.jobs.add(id, fingerprint, mint_url, caller, limits)? else {
            return Ok(None);
        };
        let core = Arc::clone(self);
        self.tasks.spawn(async move {
            let aborting = core.aborting.clone();
            tokio::select! {
                () = core.run(&entry, start) => {}
                () = aborting.cancelled() => entry.report(Progress::Stopped),
            }
            core.jobs.remove(id);
        });
        Ok(waiter)
    }

    async fn wait(&self, mut waiter: Waiter, joined: bool) -> Result<JobResult, TicketError> {
        let mut progress = waiter.entry().progress();
        let mut limit = self.options.wait;
        let waits_for_payment = matches!(*progress.borrow(), Progress::PaymentNeeded { .. });
        if joined {
            waiter.entry().nudge.notify_one();
            if waits_for_payment {
                limit = limit.min(PAYMENT_WAIT);
            }
        }
        let mut deadline = tokio::time::Instant::now() + limit;
        let mut was_pending = false;
        loop {
            let now = progress.borrow_and_update().clone();
            match now {
                Progress::Ended(ended) => return result(ended),
                Progress::PaymentNeeded { invoice, expires_at } if !waits_for_payment => {
                    waiter.entry().expect(PAYMENT_TIME);
                    return Ok(JobResult::PaymentNeeded { invoice, expires_at });
                }
                Progress::Stopped => return Err(TicketError::TimedOut),
                Progress::Pending if !was_pending => {
                    was_pending = true;
                    deadline = deadline.min(tokio::time::Instant::now() + PENDING_WAIT);
                }
                Progress::PaymentNeeded { .. } | Progress::Pending | Progress::Working(_) => {}
            }
            let changed = tokio::time::timeout_at(deadline, progress.changed()).await;
            match changed {
                Ok(Ok(())) => {}
                // Unreachable: the waiter holds the entry, which holds the sender.
                Ok(Err(_)) => return Err(TicketError::TimedOut),
                Err(_) if !waiter.leave() && tokio::time::Instant::now() < deadline + COMMIT_WAIT => {
                    deadline += COMMIT_WAIT;
                }
                Err(_) => {
                    let now = progress.borrow().clone();
                    return match now {
                        Progress::Ended(ended) => result(ended),
                        Progress::PaymentNeeded { invoice, expires_at } => {
                            waiter.entry().expect(PAYMENT_TIME);
                            Ok(JobResult::PaymentNeeded { invoice, expires_at })
                        }
                        Progress::Working(Some(failure)) => Err(failure.of_unfinished_job()),
                        Progress::Pending => Err(TicketError::Pending),
                        Progress::Working(None) | Progress::Stopped => Err(TicketError::TimedOut),
                    };
                }
            }
        }
    }

    /// Waits for another job to end; whether it succeeded.
    pub(crate) async fn is_done_by(self: &Arc<Self>, other: TicketJobId) -> Result<bool, Refusal> {
        let deadline = tokio::time::Instant::now() + self.options.wait;
        let entry = match self.jobs.get(other) {
            Some(entry) => Some(entry),
            None => {
                let Some(stored) = self.store.ticket_job(other).await? else { return Ok(false) };
                let job = Job::read(&stored)?;
                match job.ending() {
                    Some(ending) => return Ok(!matches!(ending, Ending::Failed { .. })),
                    None => self.resume(job)?.or_else(|| self.jobs.get(other)),
                }
            }
        };
        let Some(entry) = entry else { return Ok(false) };
        let mut progress = entry.progress();
        let was_pending = matches!(*progress.borrow_and_update(), Progress::Pending);
        entry.nudge.notify_one();
        drop(entry);
        if was_pending {
            // The nudge makes it query the mint at once.
            let _ = tokio::time::timeout(PENDING_WAIT, progress.changed()).await;
        }
        let is_over =
            |progress: &Progress| matches!(progress, Progress::Ended(_) | Progress::Stopped | Progress::Pending);
        let ended = progress.wait_for(is_over);
        match tokio::time::timeout_at(deadline, ended).await {
            Ok(Ok(progress)) => match &*progress {
                Progress::Ended(Ok(Ending::Failed { .. }) | Err(_)) => Ok(false),
                Progress::Ended(Ok(_)) => Ok(true),
                Progress::Pending => Err(Refusal::Pending),
                _ => Err(Refusal::Failure(Failure::TimedOut)),
            },
            Ok(Err(_)) | Err(_) => Err(Refusal::Failure(Failure::TimedOut)),
        }
    }

    /// Gives up a mint job: returns its token, or lets later signatures join the balance.
    pub(crate) async fn give_up(&self, id: TicketJobId) -> Result<Option<Token>, TicketError> {
        loop {
            let Some(stored) = self.store.ticket_job(id).await? else { return Ok(None) };
            let job = Job::read(&stored)?;
            if let Some(Ending::Token(token)) = job.ending() {
                return Ok(Some(token.clone()));
            }
            let Some(record) = job.record.given_up().filter(|_| job.repeatable()) else { return Ok(None) };
            let commit = plain_commit(id, job.revision, self.now(), &record)?;
            // The job's task finds a conflict at its next commit and reads the job again.
            if self.commit(commit).await?.is_ok() {
                return Ok(None);
            }
        }
    }

    /// Ends a mint job whose quote will not be paid, once the mint confirms that it is unpaid. Waits at most [`ABANDON_WAIT`].
    pub(crate) async fn abandon_quote(&self, id: TicketJobId) {
        let Some(entry) = self.jobs.get(id) else { return };
        let mut progress = entry.progress();
        entry.abandon_quote();
        drop(entry);
        let over = progress.wait_for(|progress| !matches!(progress, Progress::PaymentNeeded { .. }));
        let _ = tokio::time::timeout(ABANDON_WAIT, over).await;
    }

    /// Continues a stored job, unless it runs already.
    pub(crate) fn resume(self: &Arc<Self>, job: Job) -> Result<Option<Arc<Entry>>, Refusal> {
        let mint_url = job.mint_url().unwrap_or_default().to_owned();
        let (id, fingerprint) = (job.id, job.record.fingerprint.clone());
        self.start(id, &fingerprint, &mint_url, None, Start::Stored(job), None)?;
        Ok(self.jobs.get(id))
    }

    /// Prepares outputs with the next counters. The caller holds [`Mint::preparing`] until it has committed the advance.
    ///
    /// Before the first outputs of a keyset since the start, looks up which counters the mint has signed: the database may be
    /// an old copy, or a new one after a loss. Those counters are skipped, because their outputs may be in circulation. A mint
    /// that claims too much only wastes counters of its own keyset.
    pub(crate) async fn prepare(
        &self,
        mint: &Mint,
        keyset: &KeySetInfo,
        keys: &Arc<Keys>,
        totals: &[(u64, Owner)],
        auth: Option<&MintAuthToken>,
    ) -> Result<(Outputs, CounterAdvance), Refusal> {
        let (mint_url, name) = (mint.address.as_str().to_owned(), keyset.id.to_string());
        let from = self.store.ticket_counter(&mint_url, &name).await?;
        let first = match mint.first_unused(keyset.id) {
            Some(known) => known.max(from),
            None => {
                let found = self.find_first_unused(mint, keyset, from, auth).await?;
                mint.remember_first_unused(keyset.id, found);
                found
            }
        };
        let (seeds, id, keys) = (self.seeds.of(&mint.address), keyset.id, Arc::clone(keys));
        let totals = totals.to_owned();
        let (outputs, to) = blocking(move || Outputs::prepare(&seeds, id, &keys, first, &totals)).await?;
        Ok((outputs, CounterAdvance { mint_url, keyset: name, from, to }))
    }

    pub(crate) async fn commit(&self, commit: TicketCommit) -> Result<Result<u64, TicketConflict>, StoreError> {
        Ok(match self.store.commit_tickets(commit).await? {
            TicketCommitted::Done(revision) => Ok(revision),
            TicketCommitted::Conflict(conflict) => Err(conflict),
        })
    }

    pub(crate) fn now(&self) -> UnixMillis {
        self.clock.now()
    }
}

/// Runs a computation that is too long for the runtime's threads.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OutputError> + Send + 'static,
) -> Result<T, OutputError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(OutputError::Derivation))
}

fn result(ended: Result<Ending, Refusal>) -> Result<JobResult, TicketError> {
    match ended {
        Ok(Ending::Failed { failure, .. }) => Err(failure.into()),
        Ok(ending) => Ok(JobResult::Ended(ending)),
        Err(refusal) => Err(refusal.into()),
    }
}
