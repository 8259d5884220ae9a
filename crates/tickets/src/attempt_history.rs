use std::time::Duration;

use usher_engine::ports::TicketConflict;

use crate::job_runtime::AttemptError;
use crate::mint_error::MintError;
use crate::stored_job::{Job, Stage};

/// How long a mint must refuse before it is believed although an earlier attempt had no response: by then that one has
/// surely been processed.
pub(crate) const LATE_EFFECTS: Duration = Duration::from_secs(5 * 60);

/// What is known of the attempts of a job's current outputs. After a restart it is known only whether all were refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    /// Whether one may have reached the mint without a response: its effect may still come.
    pub(crate) uncertain: bool,
    /// Whether there was any.
    pub(crate) any: bool,
    /// Since when the mint refuses (on the monotonic clock).
    pub(crate) refused_since: Option<Duration>,
    /// How often an unpaid quote was looked at.
    pub(crate) looks: usize,
    /// The mint has refused the job's auth token: the next attempt shows a newer one.
    pub(crate) auth_refused: bool,
    /// The outputs are new ones already, because the mint claimed to have signed those before them.
    pub(crate) has_skipped: bool,
    /// The operator was warned that the mint has no signatures for what it calls done.
    pub(crate) has_warned: bool,
    /// Set while the mint holds the inputs as pending, or calls them spent by an attempt that is uncertain.
    pub(crate) pending: Option<Pending>,
}

impl Attempts {
    /// Of outputs that were prepared just now.
    pub(crate) const NONE: Self = Self {
        uncertain: false,
        any: false,
        refused_since: None,
        looks: 0,
        auth_refused: false,
        has_skipped: false,
        has_warned: false,
        pending: None,
    };

    pub(crate) fn of_stored(job: &Job) -> Self {
        let are_refused = matches!(&job.record.stage, Stage::Swapping(swapping) if swapping.refused);
        Self { uncertain: !are_refused, any: true, ..Self::NONE }
    }

    /// Warns once that the mint says that this was done, perhaps by an uncertain attempt, and has no signatures.
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

/// The result of an attempt.
pub(crate) enum Attempt {
    /// The job has changed: it is at this revision now.
    Changed(Job),
    /// The job has new outputs, or what is stored of its requests has changed: it is at this revision now.
    Anew(Job),
    /// The mint waits for a payment: look again after a pause, or when somebody asks.
    Later(Duration),
    /// The mint has not decided about the inputs ([`Attempts::pending`]).
    Pending,
}

/// Since when the inputs of a job are pending, on the monotonic clock. Not stored: after a restart it begins again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) since: Duration,
    /// When the job was tried last.
    pub(crate) tried_at: Duration,
}

impl Pending {
    /// Whether the job is to be tried although its inputs are pending: after five minutes, and again at each doubled age.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        let age = now.saturating_sub(self.since);
        now.saturating_sub(self.tried_at) >= LATE_EFFECTS.max(age / 2)
    }
}

/// A conflict that only somebody else's commit explains.
pub(crate) fn stale(conflict: TicketConflict) -> AttemptError {
    tracing::debug!(?conflict, "a ticket job was changed by somebody else");
    AttemptError::Stale
}

pub(crate) fn wrong(reason: &str) -> MintError {
    MintError::Invalid(reason.to_owned())
}
