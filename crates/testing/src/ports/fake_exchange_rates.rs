use std::time::Duration;

use parking_lot::Mutex;

use usher_engine::UnixMillis;
use usher_engine::ports::{CurrencyCode, ExchangeRate, ExchangeRates, RateUnavailable};

pub struct FakeExchangeRates {
    currencies: Vec<CurrencyCode>,
    rates: Mutex<Vec<Option<ExchangeRate>>>,
}

impl FakeExchangeRates {
    /// Currencies without a rate yet.
    pub fn of(codes: &[&str]) -> Self {
        let currencies: Vec<_> = codes.iter().map(|code| CurrencyCode::parse(code).unwrap()).collect();
        let rates = Mutex::new(vec![None; currencies.len()]);
        Self { currencies, rates }
    }

    /// From now on a bitcoin costs this much; `None`: nobody knows.
    pub fn set(&self, code: &str, value: Option<&str>, at: UnixMillis) {
        let rate = value.map(|value| ExchangeRate { value: value.parse().unwrap(), source: "fake".to_owned(), at });
        let place = self.currencies.iter().position(|currency| currency.as_str() == code).unwrap();
        *self.rates.lock().get_mut(place).unwrap() = rate;
    }
}

impl ExchangeRates for FakeExchangeRates {
    fn currencies(&self) -> &[CurrencyCode] {
        &self.currencies
    }

    fn rate(&self, currency: CurrencyCode) -> Result<ExchangeRate, RateUnavailable> {
        let place = self.currencies.iter().position(|known| *known == currency);
        let rate = place.and_then(|place| self.rates.lock().get(place).cloned().flatten());
        let reason = "the test has set none".to_owned();
        rate.ok_or(RateUnavailable { currency, reason, retry_after: Duration::from_secs(60) })
    }
}
