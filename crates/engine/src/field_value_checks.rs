//! Checks the values of a request's fields beyond their form: against the clock, the configuration, the store, each other.
//!
//! Separate from starting, because a client gets all errors in one response: even if some fields have a wrong form, the
//! others are checked. Each request says beside its start what it checks.

use std::sync::Arc;
use std::time::Duration;

use crate::kernel::core::Core;
use crate::kernel::request_errors::StartError;
use crate::payment::rules::PaymentRules;
use crate::ports::{StoreError, TicketWallet};
use crate::request_body::RequestBody;
use crate::{FieldErrors, UnixMillis};

/// How long a user may take to pay if the caller does not say.
const PAYMENT_TTL: Duration = Duration::from_secs(300);

/// The longest that a user may take to pay, or to make an invoice (docs/payments.md).
const MAX_PAYMENT_TTL: Duration = Duration::from_secs(24 * 3600);

/// A request with fields whose values are checked beyond their form.
pub trait CheckedRequest: RequestBody + Clone {
    /// Adds the fields of a draft that have an invalid value.
    fn check(
        draft: &Self::Draft,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Checks the values of fields.
pub struct FieldChecks {
    pub(crate) core: Core,
    pub(crate) rules: PaymentRules,
    pub(crate) tickets: Option<Arc<dyn TicketWallet>>,
}

impl FieldChecks {
    /// Refuses a request with invalid fields.
    pub(crate) async fn check<R: CheckedRequest>(&self, request: &R) -> Result<(), StartError> {
        let mut errors = FieldErrors::default();
        R::check(&request.clone().into_draft(), self, &mut errors).await?;
        errors.finish(Some(())).map_err(StartError::Invalid)
    }

    /// Checks an amount in millisats.
    pub(crate) fn amount(&self, pointer: &'static str, amount: Option<u64>, errors: &mut FieldErrors) {
        let max = self.rules.max_amount;
        match amount {
            Some(0) => errors.add(pointer, "must be more than zero"),
            Some(amount) if amount > max => {
                errors.add(pointer, format!("must be at most {max} millisats (limits.max_amount_millisats)"));
            }
            Some(_) | None => {}
        }
    }

    /// Checks until when a user can pay, or make an invoice.
    pub(crate) fn expiry(&self, pointer: &'static str, given: Option<u64>, errors: &mut FieldErrors) {
        let now = self.core.clock.now();
        let expires_at = expiry(given, now);
        if expires_at <= now {
            errors.add(pointer, "must be in the future");
        } else if expires_at > now.plus(MAX_PAYMENT_TTL) {
            errors.add(pointer, "must be within 24 hours");
        }
    }
}

/// Until when a user can pay, or make an invoice.
pub(crate) fn expiry(given: Option<u64>, now: UnixMillis) -> UnixMillis {
    given.map_or(now.plus(PAYMENT_TTL), UnixMillis::from_secs)
}
