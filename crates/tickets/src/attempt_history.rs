use std::time::Duration;

use usher_engine::ports::TicketConflict;

use crate::job_runtime::AttemptError;
use crate::mint_error::MintError;
use crate::stored_job::{Job, Stage};

/// How long a mint must refuse before a refusal ends the job although an earlier attempt had no response: by then the mint has
/// certainly processed that attempt.
pub(crate) const LATE_EFFECTS: Duration = Duration::from_secs(5 * 60);

/// The attempts with a job's current outputs; by default none. After a restart only whether all were refused is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempts {
    /// An attempt may have reached the mint without a response and may still take effect.
    pub(crate) uncertain: bool,
    pub(crate) any: bool,
    /// Since when the mint has been refusing, on the monotonic clock.
    pub(crate) refused_since: Option<Duration>,
    /// How often an unpaid quote was checked.
    pub(crate) looks: usize,
    /// The mint has refused the job's auth token: the next attempt uses a newer one.
    pub(crate) auth_refused: bool,
    /// These outputs replace others that the mint claimed to have signed.
    pub(crate) has_skipped: bool,
    /// [`Self::warn_of_lost_signatures`] has warned.
    pub(crate) has_warned: bool,
    /// Set while the mint holds the inputs as pending, or reports them as spent after an uncertain attempt.
    pub(crate) pending: Option<Pending>,
}

impl Attempts {
    pub(crate) fn of_stored(job: &Job) -> Self {
        let are_refused = matches!(&job.record.stage, Stage::Swapping(swapping) if swapping.refused);
        Self { uncertain: !are_refused, any: true, ..Self::default() }
    }

    /// Warns once that the mint reports the request as done, perhaps by an uncertain attempt, and has no signatures.
    pub(crate) fn warn_of_lost_signatures(&mut self, job: &Job, mint: &str, amount: u64, unit: &str) {
        if !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!(
                job = ?job.id, mint, amount, unit,
                "the response to a request was lost; the mint says that the tickets are spent, or the quote is issued, and that \
                 it has not signed the new ones: it is asked again until it has the signatures",
            );
        }
    }
}

pub(crate) enum Attempt {
    /// The job has reached its next stage.
    Changed(Job),
    /// The job stays at its stage, with new outputs or another [`refused`](crate::stored_job::Swapping::refused).
    Anew(Job),
    /// The mint waits for a payment: check again after a pause, or when a caller asks for the job.
    Later(Duration),
    /// The mint has not decided about the inputs ([`Attempts::pending`]).
    Pending,
}

/// How long the inputs of a job have been pending. Not stored: a restart resets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// On the monotonic clock.
    pub(crate) since: Duration,
    /// The last attempt, on the monotonic clock.
    pub(crate) tried_at: Duration,
}

impl Pending {
    /// Whether an attempt is due although the inputs are pending: after five minutes, and whenever the age has doubled.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        let age = now.saturating_sub(self.since);
        now.saturating_sub(self.tried_at) >= LATE_EFFECTS.max(age / 2)
    }
}

/// A conflict with a commit by another task or process.
pub(crate) fn stale(conflict: TicketConflict) -> AttemptError {
    tracing::debug!(?conflict, "a ticket job was changed by somebody else");
    AttemptError::Stale
}

pub(crate) fn wrong(reason: &str) -> MintError {
    MintError::Invalid(reason.to_owned())
}
