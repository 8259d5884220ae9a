//! The task of a job: attempts with growing pauses until the job has ended.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::{CounterAdvance, ProofId, TicketCommit};

use crate::attempt_history::{Attempt, Attempts, stale};
use crate::job_failure::{Failure, Refusal};
use crate::job_runtime::{AttemptError, Core, Start, edge};
use crate::mint_address::MintAddress;
use crate::running_jobs::{Entry, Progress};
use crate::stored_job::{Ending, Job, Record, Stage, plain_commit};

/// The pause after the first failed attempt; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

impl Core {
    pub(crate) async fn run(self: &Arc<Self>, entry: &Arc<Entry>, start: Start) {
        let ended = match self.run_to_end(entry, start).await {
            Ok(ending) => Ok(ending),
            Err(AttemptError::Stopped) => return entry.report(Progress::Stopped),
            Err(AttemptError::Refused(refusal)) => Err(refusal),
            Err(AttemptError::Mint(error)) => Err(Refusal::Failure(error.into())),
            Err(AttemptError::Stale) => Err(Refusal::Failure(Failure::TimedOut)),
        };
        entry.report(Progress::Ended(ended));
    }

    async fn run_to_end(self: &Arc<Self>, entry: &Arc<Entry>, start: Start) -> Result<Ending, AttemptError> {
        let (mut job, mut attempts) = match start {
            Start::New { terms, expected } => (self.create(entry, terms, expected).await?, Attempts::default()),
            Start::Stored(job) => {
                let attempts = Attempts::of_stored(&job);
                (job, attempts)
            }
        };
        let mut pause = FIRST_PAUSE;
        let mut is_anew = false;
        loop {
            if let Some(ending) = job.ending() {
                return Ok(ending.clone());
            }
            if self.closing.is_cancelled() {
                return Err(AttemptError::Stopped);
            }
            let halt = match self.attempt(entry, &job, &mut attempts).await {
                Ok(Attempt::Changed(changed)) => {
                    (job, pause) = (changed, FIRST_PAUSE);
                    continue;
                }
                Ok(Attempt::Anew(changed)) => {
                    job = changed;
                    // Pauses, in case the mint reports another keyset or state each time.
                    if is_anew {
                        self.pause(entry, jittered(pause, &job)).await?;
                        pause = (pause * 2).min(self.options.longest_pause);
                    }
                    is_anew = true;
                    continue;
                }
                Ok(Attempt::Later(wait)) => {
                    self.pause(entry, wait).await?;
                    continue;
                }
                Ok(Attempt::Pending) => {
                    entry.report(Progress::Pending);
                    self.pause(entry, self.until_look(&attempts)).await?;
                    continue;
                }
                Err(halt) => halt,
            };
            let is_stale = matches!(halt, AttemptError::Stale);
            match halt {
                AttemptError::Stopped | AttemptError::Refused(_) => return Err(halt),
                AttemptError::Stale => {}
                AttemptError::Mint(error) => {
                    tracing::debug!(job = ?job.id, %error, "an attempt of a ticket job failed");
                    // Toggles between the newer token and the job's own.
                    attempts.auth_refused ^= error.concerns_auth();
                    entry.report(Progress::Working(Some(error.into())));
                }
            }
            attempts.any = true;
            self.pause(entry, jittered(pause, &job)).await?;
            pause = (pause * 2).min(self.options.longest_pause);
            if is_stale && let Some(stored) = self.store.ticket_job(job.id).await.ok().flatten() {
                job = Job::read(&stored).map_err(Refusal::from)?;
                attempts = Attempts::of_stored(&job);
            }
        }
    }

    async fn attempt(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        job: &Job,
        attempts: &mut Attempts,
    ) -> Result<Attempt, AttemptError> {
        let renewed = if attempts.auth_refused { self.with_renewed_auth(entry, job).await } else { None };
        let job = renewed.as_ref().unwrap_or(job);
        match &job.record.stage {
            Stage::Intent(terms) => self.quote(entry, job, terms).await,
            Stage::Quoted(minting) => self.issue(entry, job, minting, attempts).await,
            Stage::Swapping(swapping) => self.swap_unless_pending(entry, job, swapping, attempts).await,
            Stage::Ended(_) => Err(AttemptError::Stale),
        }
    }

    /// The job with the auth token of the last caller, or else with the one that its mint accepted last, if there is one.
    async fn with_renewed_auth(&self, entry: &Entry, job: &Job) -> Option<Job> {
        let auth = match entry.offered_auth() {
            Some(offered) => offered,
            None => self.tokens.of(&MintAddress::parse(job.mint_url()?).ok()?).await?,
        };
        let mut record = (*job.record).clone();
        match &mut record.stage {
            Stage::Quoted(minting) => minting.terms.auth = Some(auth),
            Stage::Swapping(swapping) => swapping.auth = Some(auth),
            Stage::Intent(_) | Stage::Ended(_) => return None,
        }
        Some(Job { record: Arc::new(record), ..job.clone() })
    }

    /// Waits for `pause`, or until a caller asks for the job or the wallet closes.
    async fn pause(&self, entry: &Entry, pause: Duration) -> Result<(), AttemptError> {
        tokio::select! {
            () = self.clock.sleep(pause) => Ok(()),
            () = entry.nudge.notified() => Ok(()),
            () = self.closing.cancelled() => Err(AttemptError::Stopped),
        }
    }

    /// Commits the job's next stage, with what `change` adds to the commit.
    pub(crate) async fn advance(
        &self,
        job: &Job,
        stage: Stage,
        change: impl FnOnce(&mut TicketCommit),
    ) -> Result<Job, AttemptError> {
        let record = Record { stage, ..(*job.record).clone() };
        let mut commit = plain_commit(job.id, job.revision, self.now(), &record)?;
        change(&mut commit);
        let revision = self.commit(commit).await?.map_err(stale)?;
        Ok(Job { id: job.id, revision, record: Arc::new(record) })
    }

    /// Commits the same stage with new outputs.
    pub(crate) async fn replace_outputs(
        &self,
        job: &Job,
        stage: Stage,
        counter: CounterAdvance,
    ) -> Result<Attempt, AttemptError> {
        edge!("tickets-before-new-outputs");
        let job = self.advance(job, stage, |commit| commit.counter = Some(counter)).await?;
        edge!("tickets-after-new-outputs");
        Ok(Attempt::Anew(job))
    }

    /// Ends the job as failed and releases its claims and reserved proofs. `again`: the same id starts it again.
    pub(crate) async fn fail(&self, job: &Job, failure: Failure, again: bool) -> Result<Attempt, AttemptError> {
        self.fail_with(job, failure, again, Vec::new()).await
    }

    /// [`Self::fail`], and sets own proofs aside.
    pub(crate) async fn fail_with(
        &self,
        job: &Job,
        failure: Failure,
        again: bool,
        set_aside: Vec<ProofId>,
    ) -> Result<Attempt, AttemptError> {
        let ended = self.advance(job, Stage::Ended(Ending::Failed { failure, again }), |commit| {
            commit.release_claims = true;
            commit.release_reserved = true;
            commit.set_aside = set_aside;
        });
        Ok(Attempt::Changed(ended.await?))
    }
}

/// Lengthens a pause by up to a half, depending on the job, so that jobs that failed together do not retry together.
fn jittered(pause: Duration, job: &Job) -> Duration {
    let [byte, ..] = job.id.0;
    pause + pause * u32::from(byte) / 512
}
