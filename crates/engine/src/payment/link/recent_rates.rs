//! The rates at which wallets were told an amount.

use std::time::Duration;

use parking_lot::Mutex;

use crate::ports::{CurrencyCode, ExchangeRate};

/// How long a wallet can use an offered rate, while its user reads and confirms.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Most remembered rates: with a new one per minute, those of a hundred currencies.
const MOST: usize = 1_000;

/// The rates offered to wallets, with their times on the monotonic clock.
#[derive(Default)]
pub(crate) struct RecentRates(Mutex<Vec<(CurrencyCode, ExchangeRate, Duration)>>);

impl RecentRates {
    pub(super) fn remember(&self, currency: CurrencyCode, rate: &ExchangeRate, now: Duration) {
        let mut rates = self.0.lock();
        rates.retain(|(known, old, at)| now.saturating_sub(*at) < REMEMBERED && !(*known == currency && old == rate));
        if rates.len() >= MOST {
            rates.remove(0);
        }
        rates.push((currency, rate.clone(), now));
    }

    /// Latest first.
    pub(super) fn of(&self, currency: CurrencyCode, now: Duration) -> Vec<ExchangeRate> {
        let rates = self.0.lock();
        let recent = |at: Duration| now.saturating_sub(at) < REMEMBERED;
        let of = rates.iter().rev().filter(|(known, _, at)| *known == currency && recent(*at));
        of.map(|(_, rate, _)| rate.clone()).collect()
    }
}
