//! A payment of a third party's invoice by the service's Lightning backend.
//!
//! ```text
//! waiting ──a request is signed, over a live connection──▶ sending   the request is stored, and only then sent
//! waiting ──no connection until the end──────────────────▶ over      error, not_paid: nothing was sent
//! sending ──the backend shows the preimage───────────────▶ over      paid
//! sending ──the request did not leave after all──────────▶ waiting   another request may be signed
//! sending ──it refuses, fails, or does not reply─────────▶ checking  the payment is looked up
//! checking ─the backend shows the preimage───────────────▶ over      paid
//! checking ─failed, by state, or refused and not found───▶ over      error, not_paid
//! checking ─proven not to have been made─────────────────▶ waiting   before `expires_at`: a new attempt
//!                                                        ▶ over      after it: error, not_paid, if look-ups find payments under way
//! checking ─no conclusive look-up for long───────────────▶ over      error, unknown
//! over     ─paid after all───────────────────────────────▶ over      paid, once
//! ```
//!
//! An attempt begins when its request can be written to a live connection: without one, no request is signed or sent. A
//! request is stored before it is written. It carries the time after which the backend does not act on it, a minute
//! ahead at most; until then the adapter may send the *same* request again. A *second* request is signed only when the
//! first is known not to have left, or when the payment is **proven** not to have been made: its time has passed by
//! both clocks with a margin, the backend answers "not found", its look-ups have been seen to find our payments, and it
//! never reported this one as under way. If the backend reported that it *tried* (`PAYMENT_FAILED` may be a time-out),
//! its look-ups must have been seen to find payments under way, too, and the invoice must have expired.
//!
//! A second request is harmless even if the first is under way after all: both name the same payment hash, which a node pays
//! once. `not_paid` is not: the app may pay in another way. So it takes look-ups that have been seen to find payments under
//! way; a backend whose look-ups list only settled payments ends as `unknown`.
//!
//! | crash or stop … | what the next start does |
//! | --- | --- |
//! | while waiting, the request not signed, or signed and not stored | nothing was sent: a request is signed as soon as there is a connection |
//! | after the request is stored, before or after it is written; before its reply is committed | within its minute: looked up, and the same request is sent again when the backend does not know the payment. Later: looked up |
//! | while checking | looked up again |
//!
//! What remains unknown, with a backend whose look-ups find no outgoing payments: a crash between the commit of the signed
//! request and the write to the socket that follows it (microseconds, the connection being there), when the next start
//! comes after the request's minute. No outage widens this window.

mod books_entry;
mod replies;
pub(crate) mod start;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;

use crate::UnixMillis;
use crate::event_data::{EventData, PaymentData};
use crate::machine::{BUDGET_WINDOW, Effect, Input, LightningRequest, Spending, StateMachine, StepResult, emit, lease};
use crate::ports::{CorrelationKey, LightningError, PaymentRecord, SignedPayment};

/// The longest pause before the next wait for a connection. Most of the time passes in the adapter's own wait.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How long after its expiry by the service's clock a request is treated as void: clocks differ, and relays may be
/// slow. The adapter ensures that the backend's own clock has passed the expiry, too.
const VOID_AFTER: Duration = Duration::from_secs(60);

/// How long look-ups continue after everything has expired, with a backend that does not know the payment.
const AFTER_EXPIRY: Duration = Duration::from_secs(600);

/// The longest duration of these look-ups.
const MAX_UNKNOWN_TIME: Duration = Duration::from_secs(24 * 3600);

/// The longest that a payment can be in progress: two weeks of blocks, the largest time lock of usual routes.
const MAX_PENDING_TIME: Duration = Duration::from_secs(14 * 24 * 3600);

/// The number of look-ups that may fail after a refusal before the refusal is accepted.
const CONFIRMING: u32 = 3;

/// Seconds after its end at which a payment that is not known to be paid is looked up again: the backend may have been
/// unreachable for a moment, or for days.
const AFTER_THE_END: [u64; 11] = [60, 120, 300, 600, 1200, 3600, 6 * 3600, DAY, 3 * DAY, 7 * DAY, 14 * DAY];

/// In seconds.
const DAY: u64 = 24 * 3600;

/// The state of a payment by the service's Lightning backend.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingPayment {
    invoice: Invoice,
    reference: Option<String>,
    started_at: UnixMillis,
    /// No attempt begins after this time.
    expires_at: UnixMillis,
    /// The number of requests that were signed and stored.
    attempts: u32,
    /// An earlier request was sent: while it is in progress, the backend may refuse a later one.
    #[serde(default)]
    sent_before: bool,
    /// An earlier request may be in progress: the look-ups without a result list only settled payments.
    #[serde(default)]
    in_doubt: bool,
    /// Why the last attempt failed, if the backend reported it.
    #[serde(default)]
    reason: Option<String>,
    /// The largest fee in millisats that the configuration allowed at the start.
    #[serde(default)]
    fees_allowed: u64,
    /// The fee in millisats that the backend reported.
    #[serde(default)]
    fees_paid: Option<u64>,
    phase: Phase,
    paid: bool,
    /// The payment has ended, and its outcome is unknown.
    #[serde(default)]
    unknown: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Attempt {
    signed: SignedPayment,
    /// An earlier process may have sent it.
    resumed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    /// No request was sent that the backend could still act on.
    Waiting { tries: u32, next: UnixMillis },
    /// The request is being sent, or its reply is awaited.
    Sending {
        attempt: Attempt,
        /// The time at which the reply is treated as lost.
        next: UnixMillis,
    },
    /// The request may have been sent; its result is looked up.
    Checking {
        attempt: Attempt,
        tries: u32,
        /// The backend replied that it did not pay.
        refused: bool,
        /// The backend reported an attempt, or the request was sent more than once: a refusal alone is no proof.
        tried: bool,
        /// The backend has reported that the payment is in progress.
        pending: bool,
        /// The backend reports that the payment has ended, without a proof of the outcome.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unproven: bool,
        next: UnixMillis,
    },
    #[serde(rename = "over")]
    Ended { at: UnixMillis, checks: usize },
}

usher_protocol::debug_shows!(OutgoingPayment { invoice, phase });

impl Attempt {
    fn until(&self) -> UnixMillis {
        UnixMillis::from_secs(self.signed.until)
    }

    /// The time after which no backend acts on the request, wherever it may be queued.
    fn void_at(&self) -> UnixMillis {
        self.until().plus(VOID_AFTER)
    }
}

impl StateMachine for OutgoingPayment {
    fn is_about(&self, _user: &PublicKey) -> bool {
        false
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        // If the clock was ahead when it started, the longest times count from now.
        self.started_at = self.started_at.min(now);
        match input {
            Input::Timer if Some(now) >= self.wake_at() => self.woken(now),
            Input::Resumed => self.resumed(now),
            Input::PaymentPrepared(prepared) => self.prepared(prepared, now),
            Input::Paid(paid) => self.shown(paid, now),
            Input::PaymentSent { attempt, result: Ok(paid) } => self.replied(*attempt, paid, now),
            Input::PaymentSent { attempt, result: Err(failure) } => self.failed(*attempt, failure, now),
            Input::PaymentStatus(status) => self.looked_up(status, now),
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(match &self.phase {
            Phase::Waiting { next, .. } => (*next).min(self.expires_at),
            Phase::Sending { next, .. } | Phase::Checking { next, .. } => *next,
            Phase::Ended { at, checks } => match AFTER_THE_END.get(*checks) {
                Some(secs) if !self.paid => at.plus(Duration::from_secs(*secs)),
                _ => self.forgotten_at(),
            },
        })
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![self.correlation()]
    }

    fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    fn is_by_wall_clock(&self, input: &Input) -> bool {
        matches!(input, Input::PaymentStatus(_))
    }

    /// The end of the look-ups after the payment's end, if its outcome is unknown.
    fn paid_late_until(&self) -> Option<UnixMillis> {
        match self.phase {
            Phase::Ended { at, .. } if self.unknown && !self.paid => {
                AFTER_THE_END.last().map(|secs| at.plus(Duration::from_secs(*secs)))
            }
            _ => None,
        }
    }

    fn lingers(&self) -> bool {
        true
    }

    /// What it has spent, or may spend.
    fn spending(&self) -> Option<Spending> {
        let amount = self.invoice.amount().unwrap_or_default();
        let (until, certain_not) = match self.phase {
            Phase::Ended { at, .. } => (Some(at.plus(BUDGET_WINDOW)), !self.paid && !self.unknown),
            Phase::Waiting { .. } | Phase::Sending { .. } | Phase::Checking { .. } => (None, false),
        };
        if certain_not {
            return Some(Spending { amount: 0, fees_allowed: 0, fees_paid: None, until });
        }
        Some(Spending { amount, fees_allowed: self.fees_allowed, fees_paid: self.fees_paid, until })
    }

    fn payment_record(&self) -> Option<PaymentRecord> {
        Some(self.books_entry())
    }
}

impl OutgoingPayment {
    /// The invoice that it pays.
    pub const fn invoice(&self) -> &Invoice {
        &self.invoice
    }

    pub(crate) fn correlation(&self) -> CorrelationKey {
        CorrelationKey::paying(self.invoice.payment_hash())
    }

    /// No request can name an expired invoice again, and it no longer counts towards the budget: only then may it be
    /// removed.
    fn forgotten_at(&self) -> UnixMillis {
        let expired = UnixMillis::from_secs(self.invoice.expires_at()).plus(Duration::from_secs(60));
        match self.phase {
            Phase::Ended { at, checks } if !self.paid => {
                let last = checks.checked_sub(1).and_then(|last| AFTER_THE_END.get(last)).copied().unwrap_or_default();
                expired.max(at.plus(Duration::from_secs(last + 60)))
            }
            Phase::Ended { at, .. } => expired.max(at.plus(BUDGET_WINDOW)),
            _ => expired,
        }
    }

    fn woken(&mut self, now: UnixMillis) -> StepResult {
        match &mut self.phase {
            Phase::Waiting { .. } if now >= self.expires_at => self.not_paid(now),
            Phase::Waiting { next, .. } => {
                *next = lease(now);
                StepResult::Stepped(vec![self.prepare()])
            }
            Phase::Sending { .. } => self.check(None, now),
            Phase::Checking { tries, next, .. } => {
                *tries = tries.saturating_add(1);
                *next = lease(now);
                StepResult::Stepped(vec![self.look_up()])
            }
            Phase::Ended { at, checks } if !self.paid && *checks < AFTER_THE_END.len() => {
                // The pauses before the next look-ups remain, even if the clock was set forward.
                let secs = AFTER_THE_END.get(*checks).copied().unwrap_or_default();
                *at = (*at).max(now.minus(Duration::from_secs(secs)));
                *checks += 1;
                StepResult::Stepped(vec![self.look_up()])
            }
            Phase::Ended { .. } => StepResult::Stepped(vec![Effect::Finish]),
        }
    }

    /// The process that sent the request has ended; a reply to it is lost.
    fn resumed(&mut self, now: UnixMillis) -> StepResult {
        match &mut self.phase {
            Phase::Sending { attempt, next } if now < attempt.until() => {
                attempt.resumed = true;
                *next = lease(attempt.until());
                let send = self.send();
                StepResult::Stepped(send.into_iter().collect())
            }
            Phase::Sending { attempt, .. } => {
                attempt.resumed = true;
                self.check(None, now)
            }
            Phase::Waiting { .. } | Phase::Checking { .. } => self.woken(now),
            Phase::Ended { .. } => StepResult::Ignored,
        }
    }

    fn prepare(&self) -> Effect {
        let (invoice, until) = (self.invoice.clone(), self.expires_at.secs());
        Effect::CallLightning(LightningRequest::PreparePayment { invoice, until })
    }

    fn send(&self) -> Option<Effect> {
        let Phase::Sending { attempt, .. } = &self.phase else { return None };
        Some(Effect::CallLightning(LightningRequest::Pay {
            invoice: self.invoice.clone(),
            payment: attempt.signed.clone(),
            attempt: self.attempts,
            again: attempt.resumed,
        }))
    }

    fn look_up(&self) -> Effect {
        let asked = match &self.phase {
            Phase::Checking { attempt, .. } => Some(attempt.signed.clone()),
            _ => None,
        };
        Effect::CallLightning(LightningRequest::LookUpPayment { hash: self.invoice.payment_hash(), asked })
    }

    /// No request is out; waits for a connection again.
    fn wait(&mut self, tries: u32, now: UnixMillis) -> StepResult {
        let pause = Duration::from_secs(1 << tries.saturating_sub(1).min(3)).min(MAX_PAUSE);
        self.phase = Phase::Waiting { tries, next: now.plus(pause) };
        StepResult::Stepped(Vec::new())
    }

    /// `failure` is the backend's reply, if there was one.
    fn check(&mut self, failure: Option<&LightningError>, now: UnixMillis) -> StepResult {
        let (Phase::Sending { attempt, .. } | Phase::Checking { attempt, .. }) = &self.phase else {
            return StepResult::Ignored;
        };
        let attempt = attempt.clone();
        let (refused, tried) = match failure {
            Some(LightningError::Refused { reason, .. }) => {
                self.reason = Some(reason.clone());
                // An earlier process may have sent the request, or an earlier attempt may be in progress.
                (true, attempt.resumed || self.sent_before)
            }
            Some(LightningError::Failed(reason)) => {
                self.reason = Some(reason.clone());
                (true, true)
            }
            _ => (false, false),
        };
        self.phase =
            Phase::Checking { attempt, tries: 1, refused, tried, pending: false, unproven: false, next: lease(now) };
        StepResult::Stepped(vec![self.look_up()])
    }

    /// The backend does not know the payment: a new attempt, or the end.
    fn attempt_again(&mut self, now: UnixMillis) -> StepResult {
        if now >= self.expires_at {
            self.reason.get_or_insert_with(|| "the wallet did not pay in time".to_owned());
            return self.not_paid(now);
        }
        self.sent_before = true;
        self.phase = Phase::Waiting { tries: 0, next: lease(now) };
        StepResult::Stepped(vec![self.prepare()])
    }

    fn check_again(&mut self, now: UnixMillis) -> StepResult {
        let (expires_at, give_up) = (self.expires_at, self.give_up_at());
        let Phase::Checking { attempt, tries, pending, unproven, next, .. } = &mut self.phase else {
            return StepResult::Ignored;
        };
        // Sooner while a new attempt is possible.
        let slowest = if now < expires_at && !*pending { 4 } else { 6 };
        *next = now.plus(Duration::from_secs(1 << (*tries).min(slowest)));
        if now < attempt.void_at() {
            *next = (*next).min(attempt.void_at());
        }
        if now < give_up {
            return StepResult::Stepped(Vec::new());
        }
        let reason = match &self.reason {
            _ if *pending && !*unproven => "the payment has been under way for too long".to_owned(),
            Some(reason) => reason.clone(),
            None => "the wallet was asked to pay and cannot say whether it did".to_owned(),
        };
        self.end("unknown", &reason, now)
    }

    fn give_up_at(&self) -> UnixMillis {
        let (void_at, pending) = match &self.phase {
            Phase::Checking { attempt, pending, unproven, .. } => (attempt.void_at(), *pending && !*unproven),
            _ => (self.started_at, false),
        };
        if pending {
            return self.started_at.plus(MAX_PENDING_TIME);
        }
        let expired = UnixMillis::from_secs(self.invoice.expires_at()).max(void_at);
        expired.plus(AFTER_EXPIRY).min(self.started_at.plus(MAX_UNKNOWN_TIME))
    }

    /// The last request was not sent or did not pay. The result of an earlier one may be unknown.
    fn not_paid(&mut self, now: UnixMillis) -> StepResult {
        let reason = self.reason.clone().unwrap_or_else(|| LightningError::NotSent.to_string());
        self.end(if self.in_doubt { "unknown" } else { "not_paid" }, &reason, now)
    }

    /// `outcome` is the certainty that nothing was paid: `not_paid` or `unknown`.
    fn end(&mut self, outcome: &str, reason: &str, now: UnixMillis) -> StepResult {
        self.unknown = outcome == "unknown";
        self.reason = Some(reason.to_owned());
        self.phase = Phase::Ended { at: now, checks: 0 };
        StepResult::Stepped(vec![self.failure(outcome, now)])
    }

    /// Why the payment failed, or why its outcome is unknown.
    pub(crate) fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }

    /// The final event for this outcome.
    pub(crate) fn failure(&self, outcome: &str, now: UnixMillis) -> Effect {
        let data = PaymentData {
            status: "error".to_owned(),
            outcome: Some(outcome.to_owned()),
            paid_late_until: self.paid_late_until().map(UnixMillis::secs),
            reason: self.reason.clone(),
            request_id: self.reference.clone(),
            ..PaymentData::default()
        };
        emit(EventData::Payment(data), now)
    }
}

#[cfg(test)]
mod tests;
