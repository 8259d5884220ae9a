//! A payment of another's invoice by our own wallet.
//!
//! ```text
//! sending ──the wallet shows the preimage──▶ over    StatusUpdate {status: paid, preimage, fees_paid?}
//! sending ──it could not be reached────────▶ waiting  and is asked again: nothing was sent
//! sending ──it refuses────────────────────▶ checking  and is asked how the payment stands, to be sure
//! sending ──no answer──────────────────────▶ checking
//! checking ─it was not sent after all──────▶ waiting
//! checking ─paid───────────────────────────▶ over    StatusUpdate {status: paid, …}
//! checking ─failed, or refused and unknown─▶ over    StatusUpdate {status: error, outcome: not_paid, reason}
//! checking ─nothing to be learnt for long──▶ over    StatusUpdate {status: error, outcome: unknown, reason}
//! over     ─paid after all─────────────────▶ over    StatusUpdate {status: paid, …}, once
//! ```
//!
//! The attempt is stored before the wallet is asked, and the wallet is asked to pay again only when the request is known
//! not to have left. An attempt whose outcome is unknown is looked up by its payment hash, never paid again
//! (architecture.md, decision 4).
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | after the start, before or after the wallet is asked, before its answer is committed | the payment is looked up |
//! | while waiting | nothing was sent: the wallet is asked when the wait is over |
//! | while checking | it is looked up again |

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use usher_protocol::bolt11::Invoice;

use super::{Effect, Input, Outcome, SetBack, WalletCall, emit, lease, millis};
use crate::UnixMillis;
use crate::event::EventType;
use crate::ports::{CorrelationKey, LightningError, OutgoingStatus, PaidInvoice};

/// How long the wallet has to act on the request; the request says so.
const SENDING: Duration = Duration::from_secs(60);

/// How long a wallet that cannot be reached is tried.
const REACHING: Duration = Duration::from_secs(120);

/// How long after everything has expired a wallet that knows nothing of the payment is asked.
const AFTER_EXPIRY: Duration = Duration::from_secs(600);

/// The longest that it is asked when it knows nothing.
const LONGEST_UNKNOWN: Duration = Duration::from_secs(24 * 3600);

/// The longest that a payment can be under way: two weeks of blocks, the largest time lock of usual routes.
const LONGEST_PENDING: Duration = Duration::from_secs(14 * 24 * 3600);

/// How many look-ups may fail after a refusal before it is taken as it is.
const CONFIRMING: u32 = 3;

/// After how many seconds from the end a payment that was not seen is looked up again: our wallet may be away for days.
const AFTER_THE_END: [u64; 7] = [600, 3600, 6 * 3600, DAY, 3 * DAY, 7 * DAY, 14 * DAY];

/// In seconds.
const DAY: u64 = 24 * 3600;

/// The state of a payment by our own wallet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPayment {
    invoice: Invoice,
    reference: Option<String>,
    #[serde(with = "millis")]
    started_at: UnixMillis,
    phase: Phase,
    paid: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    /// The wallet is asked to pay, or is about to be.
    Sending {
        tries: u32,
        /// Until when it may act on it.
        #[serde(with = "millis")]
        until: UnixMillis,
    },
    /// It was not asked: it could not be reached.
    Waiting {
        tries: u32,
        #[serde(with = "millis")]
        next: UnixMillis,
    },
    /// It was asked, and what came of it is looked up.
    Checking {
        tries: u32,
        /// Why the wallet refused, or failed, if it did.
        refused: Option<String>,
        /// It tried, and says that it failed: only a look-up shows that nothing is under way.
        #[serde(default)]
        tried: bool,
        /// The wallet has said that the payment is under way.
        pending: bool,
        #[serde(with = "millis")]
        next: UnixMillis,
    },
    Over {
        #[serde(with = "millis")]
        at: UnixMillis,
        checks: usize,
    },
}

impl fmt::Debug for OwnPayment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnPayment").field("invoice", &self.invoice).field("phase", &self.phase).finish_non_exhaustive()
    }
}

impl OwnPayment {
    /// Pays `invoice`, which names its amount; `reference` is the caller's own, echoed in events.
    pub fn start(invoice: Invoice, reference: Option<String>, now: UnixMillis) -> (Self, Vec<Effect>) {
        let phase = Phase::Sending { tries: 1, until: now.plus(SENDING) };
        let payment = Self { invoice, reference, started_at: now, phase, paid: false };
        let pay = payment.pay(now.plus(SENDING));
        (payment, vec![pay])
    }

    pub(super) fn wake_at(&self) -> UnixMillis {
        match &self.phase {
            Phase::Sending { until, .. } => lease(*until),
            Phase::Waiting { next, .. } | Phase::Checking { next, .. } => *next,
            Phase::Over { at, checks } => match AFTER_THE_END.get(*checks) {
                Some(secs) if !self.paid => at.plus(Duration::from_secs(*secs)),
                _ => self.forgotten_at(),
            },
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    pub(super) fn correlation(&self) -> CorrelationKey {
        CorrelationKey::paying(self.invoice.payment_hash())
    }

    pub(super) fn step(&mut self, input: &Input, now: UnixMillis) -> Outcome {
        match input {
            Input::Timer if now >= self.wake_at() => self.woken(now),
            Input::Resumed if matches!(self.phase, Phase::Sending { .. } | Phase::Checking { .. }) => self.woken(now),
            Input::Paid(Ok(paid)) => self.shown(paid, now),
            Input::Paid(Err(failure)) => self.failed(failure, now),
            Input::PaymentStatus(status) => self.looked_up(status, now),
            _ => Outcome::Ignored,
        }
    }

    pub(super) fn clock_set_back(&mut self, set_back: SetBack, now: UnixMillis) {
        set_back.moment(&mut self.started_at, now);
        match &mut self.phase {
            Phase::Sending { until: next, .. } | Phase::Waiting { next, .. } | Phase::Checking { next, .. } => {
                set_back.pause(next, now);
            }
            Phase::Over { at, .. } => set_back.moment(at, now),
        }
    }

    /// Nobody can ask for an expired invoice again: only then may it be forgotten.
    fn forgotten_at(&self) -> UnixMillis {
        let expired = UnixMillis::from_secs(self.invoice.expires_at()).plus(Duration::from_secs(60));
        match self.phase {
            Phase::Over { at, checks } if !self.paid => {
                let last = checks.checked_sub(1).and_then(|last| AFTER_THE_END.get(last)).copied().unwrap_or_default();
                expired.max(at.plus(Duration::from_secs(last + 60)))
            }
            _ => expired,
        }
    }

    fn woken(&mut self, now: UnixMillis) -> Outcome {
        match &mut self.phase {
            Phase::Sending { .. } => self.check(None, false, now),
            Phase::Waiting { tries, .. } => {
                let until = now.plus(SENDING);
                self.phase = Phase::Sending { tries: tries.saturating_add(1), until };
                Outcome::Stepped(vec![self.pay(until)])
            }
            Phase::Checking { tries, next, .. } => {
                *tries = tries.saturating_add(1);
                *next = lease(now);
                Outcome::Stepped(vec![self.look_up()])
            }
            Phase::Over { checks, .. } if !self.paid && *checks < AFTER_THE_END.len() => {
                *checks += 1;
                Outcome::Stepped(vec![self.look_up()])
            }
            Phase::Over { .. } => Outcome::Stepped(vec![Effect::Finish]),
        }
    }

    fn pay(&self, until: UnixMillis) -> Effect {
        Effect::Ask(WalletCall::Pay { invoice: self.invoice.clone(), until: until.secs() })
    }

    fn look_up(&self) -> Effect {
        Effect::Ask(WalletCall::LookUpPayment(self.invoice.payment_hash()))
    }

    fn check(&mut self, refused: Option<String>, tried: bool, now: UnixMillis) -> Outcome {
        self.phase = Phase::Checking { tries: 1, refused, tried, pending: false, next: lease(now) };
        Outcome::Stepped(vec![self.look_up()])
    }

    /// The wallet shows a preimage.
    fn shown(&mut self, paid: &PaidInvoice, now: UnixMillis) -> Outcome {
        if self.paid {
            return Outcome::Ignored;
        }
        if paid.preimage.payment_hash() != self.invoice.payment_hash() {
            // No proof: how it stands is not known.
            return match self.phase {
                Phase::Sending { .. } => self.check(None, false, now),
                _ => Outcome::Ignored,
            };
        }
        self.paid = true;
        self.phase = Phase::Over { at: now, checks: 0 };
        let data = json!({
            "status": "paid",
            "preimage": paid.preimage.to_hex(),
            "fees_paid": paid.fees_paid,
            "request_id": self.reference,
        });
        Outcome::Stepped(vec![emit(EventType::StatusUpdate, data, now)])
    }

    /// The wallet was asked to pay and did not, or did not say that it did.
    fn failed(&mut self, failure: &LightningError, now: UnixMillis) -> Outcome {
        let tries = match &self.phase {
            Phase::Sending { tries, .. } => *tries,
            // There is one request at a time, and this is its answer: the line to the wallet was long.
            Phase::Checking { refused: None, pending: false, .. } if *failure == LightningError::NotSent => 1,
            Phase::Waiting { .. } | Phase::Checking { .. } | Phase::Over { .. } => return Outcome::Ignored,
        };
        match failure {
            LightningError::NotSent => {
                let next = now.plus(Duration::from_secs(1 << tries.saturating_sub(1).min(4)));
                if next >= self.started_at.plus(REACHING) || self.invoice.is_expired(next.secs()) {
                    return self.end("not_paid", &failure.to_string(), now);
                }
                self.phase = Phase::Waiting { tries, next };
                Outcome::Stepped(Vec::new())
            }
            LightningError::Refused { reason, .. } => self.check(Some(reason.clone()), false, now),
            LightningError::Failed(reason) => self.check(Some(reason.clone()), true, now),
            LightningError::Unknown(_) => self.check(None, false, now),
        }
    }

    fn looked_up(&mut self, status: &Result<OutgoingStatus, LightningError>, now: UnixMillis) -> Outcome {
        if let Ok(OutgoingStatus::Paid(paid)) = status {
            let shown = self.shown(paid, now);
            if shown != Outcome::Ignored {
                return shown;
            }
        }
        let Phase::Checking { tries, refused, tried, .. } = &self.phase else { return Outcome::Ignored };
        let (tries, refused, tried) = (*tries, refused.clone(), *tried);
        match (status, refused) {
            (Ok(OutgoingStatus::Failed), refused) => {
                let reason = refused.unwrap_or_else(|| "the payment failed".to_owned());
                self.end("not_paid", &reason, now)
            }
            (Ok(OutgoingStatus::Unknown), Some(reason)) => self.end("not_paid", &reason, now),
            (Err(_), Some(reason)) if tries >= CONFIRMING && !tried => self.end("not_paid", &reason, now),
            (Ok(OutgoingStatus::Pending), _) => self.check_again(None, true, now),
            // What it shows is no proof, and that it refused is not so sure any more.
            (Ok(OutgoingStatus::Unknown | OutgoingStatus::Paid(_)), _) => self.check_again(None, false, now),
            (Err(_), refused) => self.check_again(refused, false, now),
        }
    }

    /// `why` the wallet refused, when that still stands; `under_way` when it has just said so.
    fn check_again(&mut self, why: Option<String>, under_way: bool, now: UnixMillis) -> Outcome {
        let Phase::Checking { tries, refused, pending, next, .. } = &mut self.phase else { return Outcome::Ignored };
        refused.clone_from(&why);
        *pending |= under_way;
        *next = now.plus(Duration::from_secs(1 << (*tries).min(6)));
        let pending = *pending;
        if now < self.give_up_at(pending) {
            return Outcome::Stepped(Vec::new());
        }
        let reason = match &why {
            _ if pending => "the payment has been under way for too long",
            Some(reason) => reason,
            None => "the wallet was asked to pay and cannot say whether it did",
        };
        self.end("unknown", reason, now)
    }

    fn give_up_at(&self, pending: bool) -> UnixMillis {
        if pending {
            return self.started_at.plus(LONGEST_PENDING);
        }
        let expired = UnixMillis::from_secs(self.invoice.expires_at()).max(self.started_at.plus(SENDING));
        expired.plus(AFTER_EXPIRY).min(self.started_at.plus(LONGEST_UNKNOWN))
    }

    /// `outcome` says how sure it is that nothing was paid: `not_paid` or `unknown`.
    fn end(&mut self, outcome: &str, reason: &str, now: UnixMillis) -> Outcome {
        self.phase = Phase::Over { at: now, checks: 0 };
        let data = json!({ "status": "error", "outcome": outcome, "reason": reason, "request_id": self.reference });
        Outcome::Stepped(vec![emit(EventType::StatusUpdate, data, now)])
    }
}

#[cfg(test)]
mod tests;
