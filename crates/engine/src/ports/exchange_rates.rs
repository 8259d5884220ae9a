use std::fmt;
use std::time::Duration;

use iso_currency::Currency;
use rust_decimal::Decimal;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::UnixMillis;

/// The price of a bitcoin in the configured currencies (`rates.currencies`).
///
/// From memory: no call waits for the network.
pub trait ExchangeRates: Send + Sync {
    /// The configured currencies, without duplicates.
    fn currencies(&self) -> &[CurrencyCode];

    /// The current rate.
    ///
    /// # Errors
    /// [`RateUnavailable`] instead of an unreliable rate.
    fn rate(&self, currency: CurrencyCode) -> Result<ExchangeRate, RateUnavailable>;
}

/// An ISO 4217 currency with a minor unit, or whose major unit is the smallest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CurrencyCode(Currency);

/// The price of one bitcoin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeRate {
    /// In the major unit of the currency; more than zero.
    #[serde(with = "rust_decimal::serde::str")]
    pub value: Decimal,
    /// Its source, for display.
    pub source: String,
    /// When it was read there; of several sources, the earliest time.
    pub at: UnixMillis,
}

/// There is no reliable rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no exchange rate for {currency}: {reason}")]
pub struct RateUnavailable {
    /// The currency.
    pub currency: CurrencyCode,
    /// The reason, for display.
    pub reason: String,
    /// When to retry.
    pub retry_after: Duration,
}

impl CurrencyCode {
    /// Parses a code of three letters, in either case; `None` if ISO 4217 has no such currency, or no units for it
    /// (gold).
    pub fn parse(code: &str) -> Option<Self> {
        let currency = Currency::from_code(&code.to_ascii_uppercase())?;
        currency.exponent().map(|_| Self(currency))
    }

    /// The code, in upper case.
    pub fn as_str(&self) -> &str {
        self.0.code()
    }

    /// The decimal places of its major unit: 2 for EUR, 0 for JPY, 3 for KWD.
    pub fn decimals(self) -> u32 {
        self.0.exponent().map_or(0, u32::from)
    }
}

impl fmt::Display for CurrencyCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

usher_protocol::debug_shows!(CurrencyCode as Display);

impl Serialize for CurrencyCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CurrencyCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::parse(&code).ok_or_else(|| D::Error::custom("not a currency"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_currencies_with_a_unit_are_read() {
        for (text, code, decimals) in [("EUR", "EUR", 2), ("usd", "USD", 2), ("JPY", "JPY", 0), ("KWD", "KWD", 3)] {
            let currency = CurrencyCode::parse(text).unwrap();
            assert_eq!((currency.as_str(), currency.decimals()), (code, decimals));
        }
        for wrong in ["", "EURO", "BTC", "XAU", "XXX", "millisats", "E R", "ÉUR"] {
            assert_eq!(CurrencyCode::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn rates_are_stored_exactly() {
        let rate = ExchangeRate {
            value: "64123.12345678".parse().unwrap(),
            source: "median of a, b".to_owned(),
            at: UnixMillis(1_700_000_000_123),
        };
        let stored = serde_json::to_string(&rate).unwrap();
        assert_eq!(stored, r#"{"value":"64123.12345678","source":"median of a, b","at":1700000000123}"#);
        assert_eq!(serde_json::from_str::<ExchangeRate>(&stored).unwrap(), rate);
    }
}
