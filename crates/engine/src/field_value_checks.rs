//! Validates a request's fields beyond their form: against the clock, the configuration, the store, and each other.
//!
//! Separate from starting, so that a client gets all errors in one response: even if some fields have an invalid form,
//! the others are checked. Each request implements its checks beside its start.

use std::sync::Arc;
use std::time::Duration;

use crate::kernel::core::Core;
use crate::kernel::request_errors::StartError;
use crate::payment::configured_rules::PaymentRules;
use crate::payment::expiry::expiry;
use crate::ports::{CurrencyCode, ExchangeRates, RateUnavailable, StoreError, TicketWallet};
use crate::price::{Price, SAT};
use crate::request_body::{RequestBody, RequestedCurrency};
use crate::{FieldErrors, Requester, UnixMillis};

/// The longest time for a user to pay, or to create an invoice (docs/payments.md).
const MAX_PAYMENT_TTL: Duration = Duration::from_secs(24 * 3600);

/// A request whose fields are validated beyond their form.
pub trait CheckedRequest: RequestBody {
    /// The result of the checks, with which the request starts.
    type Found: Send;

    /// Adds the fields of a draft with invalid values. Returns the result if there are none.
    fn check(
        draft: &Self::Draft,
        requester: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> impl Future<Output = Result<Option<Self::Found>, StoreError>> + Send;

    /// What is probably not meant, and valid.
    fn warning(_draft: &Self::Draft) -> Option<String> {
        None
    }
}

/// Of the currency of an amount that is not a price.
pub(crate) const SATS_OR_MILLISATS: &str = "must be `sats` or `millisats`";

/// The warning about an amount in millisats with a fraction of a sat: who means sats asks for a thousandth.
pub(crate) fn fraction_of_sat(amount: Option<u64>, currency: Option<RequestedCurrency>) -> Option<String> {
    let amount = amount.filter(|amount| currency == Some(RequestedCurrency::Millisats) && amount % SAT != 0)?;
    let sats = format!("{}.{:03}", amount / SAT, amount % SAT);
    Some(format!("the amount is {} sats", sats.trim_end_matches('0')))
}

/// An amount in millisats, with its price if it is in another currency.
pub(crate) type FixedPrice = Result<(u64, Option<Price>), RateUnavailable>;

/// The pointers to the fields of a price.
#[derive(Clone, Copy)]
pub(crate) struct PriceFields {
    pub(crate) amount: &'static str,
    pub(crate) currency: &'static str,
}

/// The usual field names.
pub(crate) const PRICE_FIELDS: PriceFields = PriceFields { amount: "/amount", currency: "/currency" };

/// Validates the values of fields.
pub struct FieldChecks {
    pub(crate) core: Core,
    pub(crate) rules: PaymentRules,
    pub(crate) tickets: Option<Arc<dyn TicketWallet>>,
    pub(crate) rates: Option<Arc<dyn ExchangeRates>>,
}

impl FieldChecks {
    /// Refuses a request with invalid fields.
    pub(crate) async fn check<R: CheckedRequest>(
        &self,
        requester: &Requester,
        request: R,
    ) -> Result<(R, R::Found), StartError> {
        let draft = request.into_draft();
        let mut errors = FieldErrors::default();
        let found = R::check(&draft, requester, self, &mut errors).await?;
        errors.finish(R::complete(draft).zip(found)).map_err(StartError::Invalid)
    }

    /// Checks an amount in millisats, and returns a valid one.
    pub(crate) fn amount(&self, pointer: &str, amount: Option<u64>, errors: &mut FieldErrors) -> Option<u64> {
        let max = self.rules.max_amount;
        match amount? {
            0 => errors.reject(pointer, "must be more than zero"),
            amount if amount > max => {
                errors.reject(pointer, format!("must be at most {max} millisats (limits.max_amount_millisats)"))
            }
            amount => Some(amount),
        }
    }

    /// Checks an amount in a currency, and fixes a valid one in millisats now.
    pub(crate) fn price(
        &self,
        fields: PriceFields,
        amount: Option<u64>,
        currency: Option<RequestedCurrency>,
        errors: &mut FieldErrors,
    ) -> Option<FixedPrice> {
        let currency = match currency {
            Some(RequestedCurrency::Iso(currency)) => Some(currency),
            Some(RequestedCurrency::Sats) => {
                let millisats = amount.map(|sats| sats.saturating_mul(SAT));
                let millisats = self.amount(fields.amount, millisats, errors)?;
                return Some(Ok((millisats, Some(Price::in_sats(millisats)))));
            }
            // An amount in an unknown currency is also checked.
            Some(RequestedCurrency::Millisats | RequestedCurrency::Unknown) | None => {
                let millisats = self.amount(fields.amount, amount, errors);
                if currency? == RequestedCurrency::Millisats {
                    return Some(Ok((millisats?, None)));
                }
                None
            }
        };
        let configured = currency.zip(self.rates.as_deref());
        let found = configured.filter(|(currency, rates)| rates.currencies().contains(currency));
        let Some((currency, rates)) = found else {
            return errors.reject(fields.currency, self.allowed_currencies());
        };
        let amount = amount?;
        let rate = match rates.rate(currency) {
            Ok(rate) => rate,
            Err(unavailable) => return Some(Err(unavailable)),
        };
        let max = self.rules.max_amount;
        match Price::fix(amount, currency, rate).filter(|price| price.amount_millisats <= max) {
            Some(price) => Some(Ok((price.amount_millisats, Some(price)))),
            None => errors.reject(
                fields.amount,
                format!("must come to at most {max} millisats (limits.max_amount_millisats), at the rate of now"),
            ),
        }
    }

    fn allowed_currencies(&self) -> String {
        match self.rates.as_deref().map(ExchangeRates::currencies) {
            Some(currencies) if !currencies.is_empty() => {
                let codes: Vec<_> = currencies.iter().map(CurrencyCode::as_str).collect();
                format!("must be `sats`, `millisats` or one of rates.currencies: {}", codes.join(", "))
            }
            _ => "must be `sats` or `millisats`: other currencies need exchange rates (rates.sources)".to_owned(),
        }
    }

    /// The currencies with a rate, for the error about an unknown one.
    pub fn currencies_with_rates(&self) -> String {
        match self.rates.as_deref().map(ExchangeRates::currencies) {
            Some(currencies) if !currencies.is_empty() => {
                let codes: Vec<_> = currencies.iter().map(CurrencyCode::as_str).collect();
                format!("must be one of rates.currencies: {}", codes.join(", "))
            }
            _ => "cannot be read: no exchange rates are configured (rates.sources)".to_owned(),
        }
    }

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

/// The default and longest time for a payer to name an invoice for a refund.
const REFUND_TTL: Duration = Duration::from_secs(7 * 24 * 3600);
const MAX_REFUND_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// Until when an invoice can be named for a refund.
pub(crate) fn refund_expiry(given: Option<u64>, now: UnixMillis) -> Result<UnixMillis, StartError> {
    let expires_at = given.map_or(now.plus(REFUND_TTL), UnixMillis::from_secs);
    if expires_at <= now {
        Err(StartError::invalid("/expires_at", "must be in the future"))
    } else if expires_at > now.plus(MAX_REFUND_TTL) {
        Err(StartError::invalid("/expires_at", "must be within 30 days"))
    } else {
        Ok(expires_at)
    }
}
