//! Prices in sats and in currencies, and their amounts in millisats.

use std::fmt;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Serialize};
use usher_protocol::message::{self, Currency};

use crate::StreamId;
use crate::ports::{CurrencyCode, ExchangeRate};

/// Sats per bitcoin, as a power of ten.
const BITCOIN: u32 = 8;

/// Millisats per sat.
pub(crate) const SAT: u64 = 1_000;

/// The unit of a price that is not in millisats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PriceUnit {
    /// Sats.
    #[serde(rename = "sats")]
    Sats,
    /// The minor unit of a currency.
    #[serde(untagged)]
    Minor(CurrencyCode),
}

impl fmt::Display for PriceUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sats => f.write_str("sats"),
            Self::Minor(currency) => currency.fmt(f),
        }
    }
}

/// A price in another unit than millisats, with its amount in millisats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The amount in its unit.
    pub amount: u64,
    /// The unit.
    pub currency: PriceUnit,
    /// The amount in millisats: whole sats, rounded up.
    pub amount_millisats: u64,
    /// The rate at which it was converted; `None` for sats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<ExchangeRate>,
}

/// A started operation, with its price if the request was not in millisats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PricedOperation {
    /// The stream.
    pub stream_id: StreamId,
    /// The price.
    pub price: Option<Price>,
}

impl Price {
    /// Converts an amount in a currency's minor unit at this rate. `None` if the result is out of range.
    pub fn fix(amount: u64, currency: CurrencyCode, rate: ExchangeRate) -> Option<Self> {
        let amount_millisats = millisats(amount, currency, rate.value)?;
        Some(Self { amount, currency: PriceUnit::Minor(currency), amount_millisats, rate: Some(rate) })
    }

    /// An amount in millisats that was requested in sats.
    pub(crate) const fn in_sats(millisats: u64) -> Self {
        Self { amount: millisats / SAT, currency: PriceUnit::Sats, amount_millisats: millisats, rate: None }
    }

    /// The value of millisats in a currency's minor unit, rounded down. `None` if it is out of range.
    pub(crate) fn worth(millisats: u64, currency: CurrencyCode, rate: Decimal) -> Option<u64> {
        let (worth, unit) = exact_worth(millisats, currency, rate)?;
        u64::try_from(worth.checked_div(unit)?).ok()
    }

    /// About how much millisats are in a currency, for display: rounded to the nearest, and never to nothing.
    pub(crate) fn about(amount_millisats: u64, currency: CurrencyCode, rate: ExchangeRate) -> Option<Self> {
        let (worth, unit) = exact_worth(amount_millisats, currency, rate.value)?;
        let amount = u64::try_from(worth.checked_add(unit / 2)?.checked_div(unit)?).ok()?.max(1);
        Some(Self { amount, currency: PriceUnit::Minor(currency), amount_millisats, rate: Some(rate) })
    }

    /// The currency, and the amount in its major unit, with all its decimal places; `None` for sats.
    pub fn major(&self) -> Option<(CurrencyCode, Decimal)> {
        let PriceUnit::Minor(currency) = self.currency else { return None };
        let major = Decimal::try_from_i128_with_scale(i128::from(self.amount), currency.decimals());
        Some((currency, major.unwrap_or_default()))
    }

    /// The amount, currency and rate for the wallet protocol, in which the rate is a floating-point number.
    pub(crate) fn to_wallet(&self) -> Option<(u64, Currency, message::ExchangeRate)> {
        let rate = self.rate.as_ref()?;
        let rate =
            message::ExchangeRate { rate: rate.value.to_f64()?, source: rate.source.clone(), time: rate.at.secs() };
        Some((self.amount, self.currency.to_string().parse().ok()?, rate))
    }
}

/// Exact, in integers: the amount divided by the price of a bitcoin, in whole sats, rounded up.
fn millisats(amount: u64, currency: CurrencyCode, rate: Decimal) -> Option<u64> {
    let rate = rate.normalize();
    let price = u128::try_from(rate.mantissa()).ok()?.checked_mul(power_of_ten(currency.decimals())?)?;
    let bought = u128::from(amount).checked_mul(power_of_ten(BITCOIN + rate.scale())?)?;
    let sats = bought.checked_add(price.checked_sub(1)?)?.checked_div(price)?;
    u64::try_from(sats).ok()?.checked_mul(SAT)
}

/// The value of whole sats, and the currency's minor unit as it counts that.
fn exact_worth(millisats: u64, currency: CurrencyCode, rate: Decimal) -> Option<(u128, u128)> {
    let rate = rate.normalize();
    let price = u128::try_from(rate.mantissa()).ok()?.checked_mul(power_of_ten(currency.decimals())?)?;
    Some((u128::from(millisats / SAT).checked_mul(price)?, power_of_ten(BITCOIN + rate.scale())?))
}

const fn power_of_ten(exponent: u32) -> Option<u128> {
    10_u128.checked_pow(exponent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::UnixMillis;
    use crate::request_body::field_reader::MAX_MILLISATS;

    fn code(text: &str) -> CurrencyCode {
        CurrencyCode::parse(text).unwrap()
    }

    fn rate(value: Decimal) -> ExchangeRate {
        ExchangeRate { value, source: "a".to_owned(), at: UnixMillis(0) }
    }

    fn fixed(amount: u64, currency: &str, value: &str) -> Option<u64> {
        Price::fix(amount, code(currency), rate(value.parse().unwrap())).map(|price| price.amount_millisats)
    }

    #[test]
    fn amounts_are_rounded_up_to_a_whole_sat() {
        for (amount, currency, value, millisats) in [
            (1_250, "EUR", "62500", 20_000_000),
            (1, "EUR", "62500", 16_000),
            (1, "EUR", "64000.1", 16_000),
            (1, "USD", "1000000000000000", 1_000),
            (1, "JPY", "10000000", 10_000),
            (1, "KWD", "20000", 5_000),
            (100, "USD", "100000000.01", 1_000),
            (100, "USD", "99999999.99", 2_000),
        ] {
            assert_eq!(fixed(amount, currency, value), Some(millisats), "{amount} {currency} at {value}");
        }
    }

    #[test]
    fn sats_are_shown_as_about_so_much() {
        for (millisats, currency, value, amount) in [
            (10_000, "EUR", "62500", 1),
            (1_000, "EUR", "62500", 1),
            (24_000, "EUR", "62500", 2),
            (23_000, "EUR", "62500", 1),
            (1_000_000_000, "JPY", "10000000", 100_000),
        ] {
            let about = Price::about(millisats, code(currency), rate(value.parse().unwrap()));
            assert_eq!(about.unwrap().amount, amount, "{millisats} at {value} {currency}");
        }
    }

    #[test]
    fn what_cannot_be_counted_has_no_price() {
        for value in ["0", "-1", "0.0000000000000000000000000001"] {
            assert_eq!(fixed(MAX_MILLISATS, "EUR", value), None, "{value}");
        }
        assert_eq!(fixed(u64::MAX, "JPY", "1"), None);
    }

    proptest! {
        #[test]
        fn prices_are_fixed_exactly(
            amount in 1..=MAX_MILLISATS,
            // A rate as sources report it, and one halfway between two.
            mantissa in 1_i64..=i64::MAX,
            scale in 0_u32..=9,
            currency in prop_oneof![Just("EUR"), Just("JPY"), Just("KWD")],
        ) {
            let currency = code(currency);
            let value = Decimal::new(mantissa, scale);
            let Some(price) = Price::fix(amount, currency, rate(value)) else { return Ok(()) };
            let millisats = price.amount_millisats;
            prop_assert!(millisats >= SAT && millisats % SAT == 0);
            // sats × rate × 10^decimals ≥ amount × 10^8 > (sats - 1) × …, with the decimal places of the rate multiplied away.
            let worth = |sats: u64| {
                u128::from(sats) * u128::from(mantissa.unsigned_abs()) * 10_u128.pow(currency.decimals())
            };
            if let Some(owed) = u128::from(amount).checked_mul(10_u128.pow(BITCOIN + scale)) {
                prop_assert!(worth(millisats / SAT) >= owed && worth(millisats / SAT - 1) < owed);
            }
            if let Some(more) = Price::fix(amount.saturating_add(1), currency, rate(value)) {
                prop_assert!(more.amount_millisats >= millisats);
            }
            let dearer = rate(value + Decimal::ONE);
            prop_assert!(Price::fix(amount, currency, dearer).is_none_or(|dearer| dearer.amount_millisats <= millisats));
        }
    }
}
