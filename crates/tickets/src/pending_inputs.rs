//! Jobs with undecided inputs: the mint holds them as pending (NUT-07), or reports them as spent without having the signatures
//! of a request whose response was lost. Such jobs do not count as working, and query the mint together.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::TokenState;

use crate::attempt_history::{Attempt, Attempts, LATE_EFFECTS, Pending};
use crate::job_failure::Failure;
use crate::job_runtime::{AttemptError, Core, edge};
use crate::mint_error::MintError;
use crate::running_jobs::{Entry, Progress};
use crate::stored_job::{Job, Stage, Swapping};

/// The shortest pause between two queries.
const FIRST_LOOK: Duration = Duration::from_secs(1);

impl Core {
    /// Tries a swap that may have been tried before, unless the mint holds its inputs as pending.
    pub(crate) async fn swap_unless_pending(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        job: &Job,
        swapping: &Swapping,
        attempts: &mut Attempts,
    ) -> Result<Attempt, AttemptError> {
        if !attempts.any {
            return self.swap(entry, job, swapping, attempts).await;
        }
        let mint = self.mints.get(&swapping.mint_url)?;
        let now = self.clock.monotonic();
        if let Some(pending) = &mut attempts.pending
            && !swapping.refused
            && pending.is_due(now)
        {
            // The mint may have the signatures nevertheless, or swap pending inputs.
            pending.tried_at = now;
            let _turn = mint.trying.acquire().await.map_err(|_| AttemptError::Stopped)?;
            return self.swap(entry, job, swapping, attempts).await;
        }
        match self.state(&mint, swapping.ys()?, swapping.auth.as_ref()).await {
            // Another request than this job's spends the inputs.
            Ok(TokenState::Pending) if swapping.refused && self.is_given_up(entry, attempts) => {
                self.end_refused(entry, job, swapping, &mint, Failure::Pending).await
            }
            Ok(TokenState::Pending) => Ok(self.pending(attempts)),
            Ok(TokenState::Spent) if swapping.refused => {
                self.end_refused(entry, job, swapping, &mint, Failure::AlreadySpent).await
            }
            // Before another request is sent, whose outcome is unknown until its response.
            Ok(TokenState::Unspent) if swapping.refused => self.store_refused(job, swapping, false).await,
            Ok(TokenState::Unspent | TokenState::Spent) => {
                if entry.is_parked() {
                    entry.report(Progress::Working(None));
                }
                self.swap(entry, job, swapping, attempts).await
            }
            Err(AttemptError::Mint(_) | AttemptError::Refused(_)) if attempts.pending.is_some() => Ok(Attempt::Pending),
            Err(AttemptError::Refused(_)) => Err(MintError::TimedOut.into()),
            Err(halt) => Err(halt),
        }
    }

    /// Whether a job with pending inputs, whose requests were all refused, gives up: after five minutes, or at once when too
    /// many jobs of the mint wait.
    fn is_given_up(&self, entry: &Entry, attempts: &Attempts) -> bool {
        match &attempts.pending {
            Some(pending) => self.clock.monotonic().saturating_sub(pending.since) >= LATE_EFFECTS,
            None => !self.jobs.try_park(entry, self.options.max_jobs_per_mint),
        }
    }

    /// Stores whether the mint has refused each request of the job.
    pub(crate) async fn store_refused(
        &self,
        job: &Job,
        swapping: &Swapping,
        refused: bool,
    ) -> Result<Attempt, AttemptError> {
        let stage = Stage::Swapping(Box::new(Swapping { refused, ..swapping.clone() }));
        edge!("tickets-before-refused");
        let job = self.advance(job, stage, |_| ()).await?;
        edge!("tickets-after-refused");
        Ok(Attempt::Anew(job))
    }

    pub(crate) fn pending(&self, attempts: &mut Attempts) -> Attempt {
        let now = self.clock.monotonic();
        attempts.pending.get_or_insert(Pending { since: now, tried_at: now });
        Attempt::Pending
    }

    /// The time until the next query: longer the longer the inputs are pending, and at instants that jobs share, so that their
    /// queries are sent as one request.
    pub(crate) fn until_look(&self, attempts: &Attempts) -> Duration {
        let now = self.clock.monotonic();
        let age = attempts.pending.map_or(Duration::ZERO, |pending| now.saturating_sub(pending.since));
        until_look(now, age, self.options.longest_pause)
    }
}

fn until_look(now: Duration, age: Duration, longest: Duration) -> Duration {
    let octave = age.as_secs().max(FIRST_LOOK.as_secs()).ilog2().min(31);
    let step = Duration::from_secs(1 << octave).min(longest.max(FIRST_LOOK)).as_millis();
    let left = step - now.as_millis() % step;
    Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_shared_and_become_rare() {
        let longest = Duration::from_secs(600);
        let at = |now: u64, age: u64| {
            let now = Duration::from_millis(now);
            now + until_look(now, Duration::from_secs(age), longest)
        };
        assert_eq!(at(10_300, 0), at(10_900, 1));
        assert_eq!(at(10_300, 4), at(11_900, 7));
        assert_eq!(at(0, 100_000), longest);
        let (mut now, mut looks) = (300, 0);
        while now < 24 * 3600 * 1000 {
            now = u64::try_from(at(now, now / 1000).as_millis()).unwrap();
            looks += 1;
        }
        assert!(looks < 170, "{looks} in a day");
    }
}
