//! Starts a request for a subscription.

use std::time::Duration;

use super::{RecurringPaymentDraft, RecurringPaymentRequest};
use crate::field_value_checks::{CheckedRequest, FieldChecks, FixedPrice, PRICE_FIELDS, fraction_of_sat};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::ports::StoreError;
use crate::price::PricedOperation;
use crate::registry::Operation;
use crate::request_body::RequestedCurrency;
use crate::subscription::request::RecurringRequest;
use crate::subscription::subscriptions::Subscriptions;
use crate::{FieldErrors, Requester, UnixMillis};

/// The longest time for a user to agree, during which the request is repeated.
const MAX_AGREEMENT_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// How far in the past the first automatic charge may be due, because clocks differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);

impl CheckedRequest for RecurringPaymentRequest {
    type Found = FixedPrice;

    async fn check(
        draft: &RecurringPaymentDraft,
        _: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<Option<FixedPrice>, StoreError> {
        let now = checks.core.clock.now();
        let price = check_amounts(draft, checks, errors);
        match draft.expires_at.map(UnixMillis::from_secs) {
            Some(expires_at) if expires_at <= now => errors.add("/expires_at", "must be in the future"),
            Some(expires_at) if expires_at > now.plus(MAX_AGREEMENT_TTL) => {
                errors.add("/expires_at", "must be within a year");
            }
            _ => {}
        }
        let Some(recurrence) = &draft.recurrence else { return Ok(None) };
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
        Ok(price)
    }

    fn warning(draft: &RecurringPaymentDraft) -> Option<String> {
        fraction_of_sat(draft.amount, draft.currency)
    }
}

fn check_amounts(draft: &RecurringPaymentDraft, checks: &FieldChecks, errors: &mut FieldErrors) -> Option<FixedPrice> {
    let price = checks.price(PRICE_FIELDS, draft.amount, draft.currency, errors);
    let now = price.as_ref().and_then(|fixed| fixed.as_ref().ok()).map(|(millisats, _)| *millisats);
    if matches!(draft.currency, Some(RequestedCurrency::Millisats | RequestedCurrency::Sats)) {
        if draft.max_amount_millisats.is_some() {
            errors.add("/max_amount_millisats", "is only for amounts in another currency than millisats and sats");
        }
    } else {
        checks.amount("/max_amount_millisats", draft.max_amount_millisats, errors);
        if now.zip(draft.max_amount_millisats).is_some_and(|(now, most)| most < now) {
            errors.add("/max_amount_millisats", "must be at least what amount comes to now");
        }
    }
    if let Some((currency, now)) = draft.currency.zip(now)
        && draft.minimum_amount.is_some_and(|least| {
            least.saturating_mul(currency.unit().unwrap_or(1)) > most(currency, now, draft.max_amount_millisats, checks)
        })
    {
        let is_fixed = matches!(currency, RequestedCurrency::Millisats | RequestedCurrency::Sats);
        let of = if is_fixed { "amount" } else { "max_amount_millisats" };
        errors.add("/minimum_amount", format!("must not be more than {of}"));
    }
    price
}

/// The maximum of a payment that costs `now` at the current rate, both in millisats.
fn most(currency: RequestedCurrency, now: u64, given: Option<u64>, checks: &FieldChecks) -> u64 {
    match currency {
        RequestedCurrency::Millisats | RequestedCurrency::Sats => now,
        _ => given.unwrap_or_else(|| now.saturating_mul(2).min(checks.rules.max_amount)),
    }
}

impl Subscriptions {
    /// Asks a user to agree to a subscription.
    pub async fn request(
        &self,
        requester: &Requester,
        request: RecurringPaymentRequest,
        once: Option<IdempotentRequest<PricedOperation>>,
    ) -> Result<PricedOperation, StartError> {
        let now = self.core.clock.now();
        let (request, price) = self.checks.check(requester, request).await?;
        if request.auto_charge && !self.has_lightning {
            return Err(StartError::NoLightning);
        }
        let (millisats, price) = price?;
        let most = most(request.currency, millisats, request.max_amount_millisats, &self.checks);
        let started = PricedOperation { stream_id: self.core.ids.stream_id(), price: price.clone() };
        let (state, effects) =
            RecurringRequest::start(request, (most, price), self.core.ids.token(), self.rules.clone());
        let record = once.map(|once| once.record(&started, now));
        let operation = Operation::RecurringRequest(state);
        self.starter.create_new(started.stream_id, requester.origin(), operation, effects, record).await?;
        Ok(started)
    }
}
