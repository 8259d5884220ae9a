//! Checks the values of a request's fields beyond their form: against the clock, the configuration, the store, each other.
//!
//! Separate from starting, because a client gets all errors in one response: even if some fields have a wrong form, the
//! others are checked. Each request says beside its start what it checks.

use std::sync::Arc;
use std::time::Duration;

use crate::kernel::core::Core;
use crate::kernel::request_errors::StartError;
use crate::payment::configured_rules::PaymentRules;
use crate::payment::expiry::expiry;
use crate::payment::price::Price;
use crate::ports::{CurrencyCode, ExchangeRates, StoreError, TicketWallet};
use crate::request_body::{RequestBody, RequestedCurrency};
use crate::{FieldErrors, Requester, UnixMillis};

/// The longest that a user may take to pay, or to make an invoice (docs/payments.md).
const MAX_PAYMENT_TTL: Duration = Duration::from_secs(24 * 3600);

/// A request with fields whose values are checked beyond their form.
pub trait CheckedRequest: RequestBody + Clone {
    /// Adds the fields of a draft that have an invalid value.
    fn check(
        draft: &Self::Draft,
        requester: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The pointers to the fields of a price.
#[derive(Clone, Copy)]
pub(crate) struct PriceFields {
    pub(crate) amount: &'static str,
    pub(crate) currency: &'static str,
}

/// Those of most requests.
pub(crate) const PRICE_FIELDS: PriceFields = PriceFields { amount: "/amount", currency: "/currency" };

/// Checks the values of fields.
pub struct FieldChecks {
    pub(crate) core: Core,
    pub(crate) rules: PaymentRules,
    pub(crate) tickets: Option<Arc<dyn TicketWallet>>,
    pub(crate) rates: Option<Arc<dyn ExchangeRates>>,
}

impl FieldChecks {
    /// Refuses a request with invalid fields.
    pub(crate) async fn check<R: CheckedRequest>(&self, requester: &Requester, request: &R) -> Result<(), StartError> {
        let mut errors = FieldErrors::default();
        R::check(&request.clone().into_draft(), requester, self, &mut errors).await?;
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

    /// Checks an amount in a currency. Returns what it comes to in millisats, if that is known.
    pub(crate) fn price(
        &self,
        fields: PriceFields,
        amount: Option<u64>,
        currency: Option<RequestedCurrency>,
        errors: &mut FieldErrors,
    ) -> Option<u64> {
        if matches!(currency, None | Some(RequestedCurrency::Unknown)) {
            // Whatever it was meant to be.
            self.amount(fields.amount, amount, errors);
        }
        let fixed = match (amount, currency?) {
            (Some(amount), currency) => self.fix_price(fields, amount, currency).map(|(millisats, _)| Some(millisats)),
            (None, currency) => self.rates_of(fields, currency).map(|_| None),
        };
        match fixed {
            Ok(millisats) => millisats,
            Err(StartError::Invalid(found)) => {
                errors.extend(found);
                None
            }
            // Not the request's fault.
            Err(_) => None,
        }
    }

    /// What an amount in a currency comes to now in millisats, and its price if that is another currency.
    pub(crate) fn fix_price(
        &self,
        fields: PriceFields,
        amount: u64,
        currency: RequestedCurrency,
    ) -> Result<(u64, Option<Price>), StartError> {
        let Some((currency, rates)) = self.rates_of(fields, currency)? else {
            let mut errors = FieldErrors::default();
            self.amount(fields.amount, Some(amount), &mut errors);
            return errors.finish(Some((amount, None))).map_err(StartError::Invalid);
        };
        let max = self.rules.max_amount;
        let price = Price::fix(amount, currency, rates.rate(currency)?);
        match price.filter(|price| price.amount_millisats <= max) {
            Some(price) => Ok((price.amount_millisats, Some(price))),
            None => Err(StartError::invalid(
                fields.amount,
                format!("must come to at most {max} millisats (limits.max_amount_millisats), at the rate of now"),
            )),
        }
    }

    /// The currency and where its rate is; `None` for millisats.
    fn rates_of(
        &self,
        fields: PriceFields,
        currency: RequestedCurrency,
    ) -> Result<Option<(CurrencyCode, &dyn ExchangeRates)>, StartError> {
        let currency = match currency {
            RequestedCurrency::Millisats => return Ok(None),
            RequestedCurrency::Iso(currency) => Some(currency),
            RequestedCurrency::Unknown => None,
        };
        let configured = currency.zip(self.rates.as_deref());
        let found = configured.filter(|(currency, rates)| rates.currencies().contains(currency));
        found.map(Some).ok_or_else(|| StartError::invalid(fields.currency, self.allowed_currencies()))
    }

    fn allowed_currencies(&self) -> String {
        match self.rates.as_deref().map(ExchangeRates::currencies) {
            Some(currencies) if !currencies.is_empty() => {
                let codes: Vec<_> = currencies.iter().map(CurrencyCode::as_str).collect();
                format!("must be `millisats` or one of rates.currencies: {}", codes.join(", "))
            }
            _ => "must be `millisats`: other currencies need exchange rates (rates.sources)".to_owned(),
        }
    }

    /// Which currencies have a rate: what a text that names none of them must be.
    pub fn currencies_with_rates(&self) -> String {
        match self.rates.as_deref().map(ExchangeRates::currencies) {
            Some(currencies) if !currencies.is_empty() => {
                let codes: Vec<_> = currencies.iter().map(CurrencyCode::as_str).collect();
                format!("must be one of rates.currencies: {}", codes.join(", "))
            }
            _ => "cannot be read: no exchange rates are configured (rates.sources)".to_owned(),
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

/// How long a payer may take to name an invoice for a refund if the caller does not say, and at most.
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
