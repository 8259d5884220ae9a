//! Starts a request for a subscription.

use std::time::Duration;

use super::{RecurringPaymentDraft, RecurringPaymentRequest};
use crate::field_value_checks::{CheckedRequest, FieldChecks};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::operations::{Operation, RecurringRequest};
use crate::ports::StoreError;
use crate::subscription::subscriptions::Subscriptions;
use crate::{FieldErrors, StreamId, UnixMillis};

/// The longest that a user may take to agree to a subscription: the request is repeated during all of it.
const MAX_AGREEMENT_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// How far in the past the first automatic charge may be due, because clocks differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);

impl CheckedRequest for RecurringPaymentRequest {
    async fn check(
        draft: &RecurringPaymentDraft,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<(), StoreError> {
        let now = checks.core.clock.now();
        checks.amount("/amount", draft.amount, errors);
        match (draft.minimum_amount, draft.amount) {
            (Some(0), _) => errors.add("/minimum_amount", "must be more than zero"),
            (Some(minimum), Some(amount)) if minimum > amount => {
                errors.add("/minimum_amount", "must not be more than amount");
            }
            _ => {}
        }
        match draft.expires_at.map(UnixMillis::from_secs) {
            Some(expires_at) if expires_at <= now => errors.add("/expires_at", "must be in the future"),
            Some(expires_at) if expires_at > now.plus(MAX_AGREEMENT_TTL) => {
                errors.add("/expires_at", "must be within a year");
            }
            _ => {}
        }
        let Some(recurrence) = &draft.recurrence else { return Ok(()) };
        let (first, until) = (recurrence.first_payment_due, recurrence.until);
        if until.zip(first).is_some_and(|(until, first)| until < first) {
            errors.add("/recurrence/until", "must not be before first_payment_due");
        }
        if until.is_some_and(|until| until <= now.secs()) {
            errors.add("/recurrence/until", "must be in the future");
        }
        let earliest = now.minus(CLOCK_TOLERANCE).secs();
        if draft.auto_charge == Some(true) && first.is_some_and(|first| first < earliest) {
            errors.add("/recurrence/first_payment_due", "must not be in the past when auto_charge is true");
        }
        Ok(())
    }
}

impl Subscriptions {
    /// Asks a user to agree to a subscription.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request(
        &self,
        request: RecurringPaymentRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let now = self.core.clock.now();
        self.checks.check(&request).await?;
        if request.auto_charge && !self.has_lightning {
            return Err(StartError::NoLightning);
        }
        let (state, effects) = RecurringRequest::start(request, self.core.ids.token(), self.rules.clone());
        let stream_id = self.core.ids.stream_id();
        let record = once.map(|once| once.record(&stream_id, now));
        self.starter.create_new(stream_id, Operation::RecurringRequest(state), effects, record).await
    }
}
