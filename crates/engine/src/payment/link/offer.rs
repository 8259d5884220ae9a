//! The amounts that a payment link accepts, in millisats, converted at the current exchange rate if necessary.

use super::error::LinkError;
use super::start::PaymentLinks;
use super::{LinkAmount, LinkTerms};
use crate::field_value_checks::FieldChecks;
use crate::page_rules::PageRules;
use crate::ports::{CurrencyCode, ExchangeRate};
use crate::price::{Price, PriceUnit, SAT};

/// An amount in millisats, with its price if converted.
pub(in crate::payment) type Fixed = (u64, Option<Price>);

impl PaymentLinks {
    /// The minimum and maximum that a wallet can pay now, in millisats.
    pub(super) fn offered(&self, terms: &LinkTerms) -> Result<(u64, u64), LinkError> {
        let Some(currency) = terms.currency else { return Ok(whole_sats(self.capped(bounds(terms.amount)))) };
        let rate = self.rate(currency)?;
        let bounds = millisats_at(terms.amount, currency, &rate).filter(|(least, _)| *least <= self.max_amount());
        let bounds = bounds.ok_or(LinkError::TooMuch)?;
        self.rates.remember(currency, &rate, self.core.clock.monotonic());
        Ok(self.capped(bounds))
    }

    /// The amount that a wallet wants to pay, in millisats, if it is within the current or a recent offer.
    pub(super) fn accepted(&self, terms: &LinkTerms, millisats: u64) -> Result<Fixed, LinkError> {
        let fits = |(least, most): (u64, u64)| (least..=most).contains(&millisats);
        if millisats > self.max_amount() {
            return Err(LinkError::TooMuch);
        }
        let is_whole = millisats.is_multiple_of(SAT);
        let Some(currency) = terms.currency else {
            let bounds = whole_sats(self.capped(bounds(terms.amount)));
            return if !fits(bounds) {
                Err(LinkError::outside(bounds))
            } else if !is_whole && bounds.0.is_multiple_of(SAT) {
                Err(LinkError::FractionOfSat)
            } else {
                Ok(fixed(terms, millisats))
            };
        };
        if !is_whole {
            return Err(LinkError::FractionOfSat);
        }
        let now = self.rate(currency);
        let recent = self.rates.of(currency, self.core.clock.monotonic());
        for rate in now.iter().chain(&recent) {
            let Some(bounds) = millisats_at(terms.amount, currency, rate) else { continue };
            if fits(self.capped(bounds)) {
                let amount = match terms.amount {
                    LinkAmount::Fixed { amount } => Some(amount),
                    LinkAmount::Chosen { min, max } => {
                        Price::worth(millisats, currency, rate.value).map(|worth| worth.clamp(min, max))
                    }
                };
                let amount = amount.ok_or(LinkError::TooMuch)?;
                let (currency, rate) = (PriceUnit::Minor(currency), Some(rate.clone()));
                let price = Price { amount, currency, amount_millisats: millisats, rate };
                return Ok((millisats, Some(price)));
            }
        }
        let bounds = millisats_at(terms.amount, currency, &now?).ok_or(LinkError::TooMuch)?;
        Err(LinkError::outside(self.capped(bounds)))
    }

    /// The amount that a person wants to pay, in the link's unit; `None` if the link fixes it.
    pub(super) fn chosen(&self, terms: &LinkTerms, chosen: Option<u64>) -> Result<Fixed, LinkError> {
        let amount = match (terms.amount, chosen) {
            (LinkAmount::Fixed { amount }, _) => amount,
            (LinkAmount::Chosen { min, max }, Some(amount)) if (min..=max).contains(&amount) => amount,
            (LinkAmount::Chosen { min, max }, _) => return Err(LinkError::outside((min, max))),
        };
        let Some(currency) = terms.currency else {
            return if amount <= self.max_amount() { Ok(fixed(terms, amount)) } else { Err(LinkError::TooMuch) };
        };
        fixed_now(&self.checks, amount, currency)
    }

    pub(super) fn rate(&self, currency: CurrencyCode) -> Result<ExchangeRate, LinkError> {
        rate(&self.checks, currency)
    }

    fn capped(&self, (least, most): (u64, u64)) -> (u64, u64) {
        (least, most.min(self.max_amount()).max(least))
    }

    fn max_amount(&self) -> u64 {
        self.checks.rules.max_amount
    }
}

/// An amount at a link without a currency.
fn fixed(terms: &LinkTerms, millisats: u64) -> Fixed {
    (millisats, terms.in_sats.then(|| Price::in_sats(millisats)))
}

/// An amount in the currency's minor unit, converted at the current rate.
pub(in crate::payment) fn fixed_now(
    checks: &FieldChecks,
    amount: u64,
    currency: CurrencyCode,
) -> Result<Fixed, LinkError> {
    let max = checks.rules.max_amount;
    let price = Price::fix(amount, currency, rate(checks, currency)?);
    let price = price.filter(|price| price.amount_millisats <= max).ok_or(LinkError::TooMuch)?;
    Ok((price.amount_millisats, Some(price)))
}

/// About how much millisats are in the currency that pages also show.
pub(in crate::payment) fn about(checks: &FieldChecks, pages: &PageRules, millisats: u64) -> Option<Price> {
    let currency = pages.show_currency?;
    Price::about(millisats, currency, rate(checks, currency).ok()?)
}

fn rate(checks: &FieldChecks, currency: CurrencyCode) -> Result<ExchangeRate, LinkError> {
    // The configuration may have changed since the request.
    let rates = checks.rates.as_deref().filter(|rates| rates.currencies().contains(&currency));
    rates.ok_or(LinkError::NoRate(currency))?.rate(currency).map_err(|_| LinkError::NoRate(currency))
}

const fn bounds(amount: LinkAmount) -> (u64, u64) {
    match amount {
        LinkAmount::Fixed { amount } => (amount, amount),
        LinkAmount::Chosen { min, max } => (min, max),
    }
}

/// The whole sats within these bounds: many backends create no other invoices. Links of earlier versions may require a fraction.
const fn whole_sats((least, most): (u64, u64)) -> (u64, u64) {
    let whole = (least.div_ceil(SAT) * SAT, most - most % SAT);
    if whole.0 <= whole.1 { whole } else { (least, most) }
}

fn millisats_at(amount: LinkAmount, currency: CurrencyCode, rate: &ExchangeRate) -> Option<(u64, u64)> {
    let (least, most) = bounds(amount);
    let fix = |amount| Price::fix(amount, currency, rate.clone()).map(|price| price.amount_millisats);
    Some((fix(least)?, fix(most)?))
}

#[cfg(test)]
mod tests {
    use super::whole_sats;

    #[test]
    fn whole_sats_are_offered_where_there_are_any() {
        for (bounds, offered) in [
            ((1_000, 50_000), (1_000, 50_000)),
            ((1, 50_999), (1_000, 50_000)),
            ((1_001, 2_000), (2_000, 2_000)),
            ((1_500, 1_500), (1_500, 1_500)),
            ((1_001, 1_999), (1_001, 1_999)),
        ] {
            assert_eq!(whole_sats(bounds), offered);
        }
    }
}
