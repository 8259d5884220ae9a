//! Reports of the Lightning backend about a payment: replies to requests, look-ups and notifications.

use super::{AFTER_EXPIRY, Attempt, CONFIRMING, OutgoingPayment, Phase};
use crate::UnixMillis;
use crate::event_data::{EventData, PaymentData};
use crate::machine::{StepResult, emit, lease};
use crate::ports::{CompletedPayment, LightningError, LookupCoverage, OutgoingPaymentStatus, SignedPayment};

impl OutgoingPayment {
    pub(super) fn prepared(&mut self, prepared: &Result<SignedPayment, LightningError>, now: UnixMillis) -> StepResult {
        let Phase::Waiting { tries, .. } = self.phase else { return StepResult::Ignored };
        match prepared {
            Ok(signed) if now < self.expires_at => {
                self.attempts = self.attempts.saturating_add(1);
                self.reason = None;
                let attempt = Attempt { signed: signed.clone(), resumed: false };
                let next = lease(attempt.until());
                self.phase = Phase::Sending { attempt, next };
                StepResult::Stepped(self.send().into_iter().collect())
            }
            Ok(_) => self.not_paid(now),
            Err(LightningError::Refused { again: false, reason }) => {
                self.reason = Some(reason.clone());
                self.not_paid(now)
            }
            Err(failure) => {
                self.reason.get_or_insert_with(|| failure.to_string());
                self.wait(tries.saturating_add(1), now)
            }
        }
    }

    pub(super) fn shown(&mut self, paid: &CompletedPayment, now: UnixMillis) -> StepResult {
        if self.paid || paid.preimage.payment_hash() != self.invoice.payment_hash() {
            return StepResult::Ignored;
        }
        self.paid = true;
        self.fees_paid = paid.fees_paid;
        self.phase = Phase::Ended { at: now, checks: 0 };
        let data = PaymentData {
            status: "paid".to_owned(),
            preimage: Some(paid.preimage.to_hex()),
            fees_paid: paid.fees_paid,
            request_id: self.reference.clone(),
            ..PaymentData::default()
        };
        StepResult::Stepped(vec![emit(EventData::Payment(data), now)])
    }

    pub(super) fn replied(&mut self, attempt: u32, paid: &CompletedPayment, now: UnixMillis) -> StepResult {
        match self.shown(paid, now) {
            // The preimage of another hash is no proof: the state of the payment is unknown.
            StepResult::Ignored if !self.paid => match self.phase {
                Phase::Sending { .. } if attempt == self.attempts => self.check(None, now),
                _ => StepResult::Ignored,
            },
            outcome => outcome,
        }
    }

    /// Handles a reply that the payment failed, or that confirms nothing.
    pub(super) fn failed(&mut self, number: u32, failure: &LightningError, now: UnixMillis) -> StepResult {
        if number != self.attempts {
            return StepResult::Ignored;
        }
        let attempt = match &self.phase {
            Phase::Sending { attempt, .. } => attempt,
            // A late reply: look-ups have begun and have not contradicted it.
            Phase::Checking { attempt, refused: false, pending: false, .. }
                if matches!(
                    failure,
                    LightningError::NotSent | LightningError::Refused { .. } | LightningError::Failed(_)
                ) =>
            {
                attempt
            }
            Phase::Waiting { .. } | Phase::Checking { .. } | Phase::Ended { .. } => return StepResult::Ignored,
        };
        match failure {
            LightningError::NotSent if !attempt.resumed => {
                self.reason.get_or_insert_with(|| failure.to_string());
                self.wait(1, now)
            }
            _ => self.check(Some(failure), now),
        }
    }

    pub(super) fn looked_up(
        &mut self,
        status: &Result<OutgoingPaymentStatus, LightningError>,
        now: UnixMillis,
    ) -> StepResult {
        if let Ok(OutgoingPaymentStatus::Paid(paid)) = status {
            let shown = self.shown(paid, now);
            if shown != StepResult::Ignored {
                return shown;
            }
        }
        let expired_at = UnixMillis::from_secs(self.invoice.expires_at()).plus(AFTER_EXPIRY);
        let Phase::Checking { attempt, tries, refused, tried, pending, unproven, .. } = &mut self.phase else {
            return StepResult::Ignored;
        };
        match status {
            Ok(OutgoingPaymentStatus::Failed) => {
                self.reason.get_or_insert_with(|| "the payment failed".to_owned());
                self.in_doubt = false;
                return self.not_paid(now);
            }
            Ok(OutgoingPaymentStatus::Unknown(_)) if *refused && !*tried => return self.not_paid(now),
            Ok(OutgoingPaymentStatus::Unknown(coverage)) if !*pending && now >= attempt.void_at() => {
                match *tried {
                    // While the invoice is payable, an earlier attempt may still arrive.
                    true if *coverage >= LookupCoverage::InProgress && now >= expired_at => {
                        self.in_doubt = false;
                        return self.not_paid(now);
                    }
                    false
                        if *coverage >= LookupCoverage::InProgress
                            || *coverage == LookupCoverage::Ended && now < self.expires_at =>
                    {
                        self.in_doubt = *coverage < LookupCoverage::InProgress;
                        return self.attempt_again(now);
                    }
                    _ => {}
                }
            }
            Ok(OutgoingPaymentStatus::Unknown(_)) => {}
            Err(_) if *refused && !*tried && *tries >= CONFIRMING => return self.not_paid(now),
            Err(_) => {}
            // The payment is known to the backend: the refusal is no longer certain.
            Ok(OutgoingPaymentStatus::Pending) => (*refused, *pending, *unproven) = (false, true, false),
            // The payment has ended, or the preimage is no proof: waiting longer changes nothing, and there is no proof
            // that it was not paid.
            Ok(OutgoingPaymentStatus::Unproven | OutgoingPaymentStatus::Paid(_)) => {
                (*refused, *tried, *pending, *unproven) = (false, true, true, true);
            }
        }
        self.check_again(now)
    }
}
