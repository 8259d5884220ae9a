use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use rust_decimal::Decimal;
use rustls::ClientConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, CurrencyCode, ExchangeRate, ExchangeRates, RateUnavailable};

use crate::agreement::{Agreement, Disagreement, agree};
use crate::fetch::{Fetcher, SourceFailure};
use crate::source::RateSource;

/// How long a price is used.
const MAX_AGE: Duration = Duration::from_secs(600);

/// Longest list of source names in a rate, in characters.
const MAX_NAMES: usize = 100;

/// Options of [`MedianRates`].
#[derive(Clone, Debug)]
pub struct RateOptions {
    /// The sources, with unique names (`rates.sources`).
    pub sources: Vec<RateSource>,
    /// The currencies, without duplicates (`rates.currencies`).
    pub currencies: Vec<CurrencyCode>,
    /// The refresh interval (`rates.refresh_seconds`).
    pub refresh: Duration,
    /// Time limit of one response.
    pub timeout: Duration,
    /// TLS configuration.
    pub tls: ClientConfig,
}

/// The rates that the sources agree on.
pub struct MedianRates {
    sources: Vec<RateSource>,
    currencies: Vec<CurrencyCode>,
    refresh: Duration,
    clock: Arc<dyn Clock>,
    fetcher: Fetcher,
    /// The latest result of each source, by currency.
    latest: Mutex<Vec<Vec<Latest>>>,
}

/// The latest result of a source for a currency.
#[derive(Clone, Debug, Default)]
struct Latest {
    price: Option<Price>,
    failure: Option<SourceFailure>,
}

#[derive(Clone, Copy, Debug)]
struct Price {
    price: Decimal,
    at: UnixMillis,
    monotonic: Duration,
}

/// The status of a currency.
#[derive(Clone, Debug)]
pub struct CurrencyStatus {
    /// The currency.
    pub currency: CurrencyCode,
    /// The rate.
    pub rate: Result<ExchangeRate, RateUnavailable>,
    /// The sources that may have it.
    pub sources: Vec<SourceStatus>,
}

/// The status of a source for a currency.
#[derive(Clone, Debug)]
pub struct SourceStatus {
    /// Its name.
    pub name: String,
    /// Its last price.
    pub price: Option<Decimal>,
    /// The age of that price.
    pub age: Option<Duration>,
    /// Why its last response was unusable.
    pub failure: Option<SourceFailure>,
    /// Whether it is excluded as too far from the other sources.
    pub is_left_out: bool,
}

/// The state of a currency, whose changes are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Agreed { left_out: Vec<String>, is_alone: bool },
    Unavailable(Disagreement),
}

impl MedianRates {
    /// Rates that are not read yet.
    pub fn new(options: RateOptions, clock: Arc<dyn Clock>) -> Self {
        let RateOptions { sources, currencies, refresh, timeout, tls } = options;
        let latest = vec![vec![Latest::default(); sources.len()]; currencies.len()];
        Self { sources, currencies, refresh, clock, fetcher: Fetcher::new(tls, timeout), latest: Mutex::new(latest) }
    }

    /// The same, read at once and then regularly by a task that ends when `stop` is cancelled.
    pub fn start(
        options: RateOptions,
        clock: Arc<dyn Clock>,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let rates = Arc::new(Self::new(options, clock));
        if let [only] = &rates.sources[..] {
            warn!(source = only.name(), "exchange rates come from one source alone: nothing notices when it is wrong");
        }
        let reading = Arc::clone(&rates);
        tasks.spawn(stop.run_until_cancelled_owned(async move { reading.run().await }));
        rates
    }

    async fn run(&self) {
        let mut standings = Vec::new();
        loop {
            let began = self.clock.monotonic();
            self.read().await;
            standings = self.log_changes(&standings);
            let took = self.clock.monotonic().saturating_sub(began);
            self.clock.sleep(self.refresh.saturating_sub(took)).await;
        }
    }

    /// Reads all sources once.
    pub async fn read(&self) {
        join_all(self.sources.iter().enumerate().map(|(nth, source)| {
            self.fetcher.fetch(source, &self.currencies, move |currency, price| self.note(currency, nth, price))
        }))
        .await;
    }

    /// The status of each currency.
    pub fn status(&self) -> Vec<CurrencyStatus> {
        self.currencies.iter().map(|currency| self.status_of(*currency)).collect()
    }

    fn status_of(&self, currency: CurrencyCode) -> CurrencyStatus {
        let latest = self.latest_of(currency).unwrap_or_default();
        let agreement = self.agreement(currency, &latest);
        let left_out = agreement.as_ref().map(|agreement| agreement.left_out.clone()).unwrap_or_default();
        let sources = self.sources.iter().zip(&latest).enumerate();
        let sources =
            sources.filter(|(_, (source, _))| source.offers(currency)).map(|(nth, (source, latest))| SourceStatus {
                name: source.name().to_owned(),
                price: latest.price.map(|price| price.price),
                age: latest.price.map(|price| self.age(price)),
                failure: latest.failure.clone(),
                is_left_out: left_out.contains(&nth),
            });
        CurrencyStatus { currency, sources: sources.collect(), rate: self.rate_of(currency, &latest, agreement) }
    }

    fn note(&self, currency: CurrencyCode, source: usize, price: Result<Decimal, SourceFailure>) {
        let (at, monotonic) = (self.clock.now(), self.clock.monotonic());
        let place = self.currencies.iter().position(|known| *known == currency);
        let mut latest = self.latest.lock();
        let Some(latest) = place.and_then(|place| latest.get_mut(place)?.get_mut(source)) else { return };
        let failed_before = latest.failure.is_some();
        match price {
            Ok(price) => *latest = Latest { price: Some(Price { price, at, monotonic }), failure: None },
            Err(failure) => latest.failure = Some(failure),
        }
        let name = self.sources.get(source).map_or("", RateSource::name);
        match &latest.failure {
            Some(failure) if !failed_before => warn!(source = name, %currency, %failure, "a rate could not be read"),
            None if failed_before => info!(source = name, %currency, "a rate can be read again"),
            _ => {}
        }
    }

    fn latest_of(&self, currency: CurrencyCode) -> Option<Vec<Latest>> {
        let place = self.currencies.iter().position(|known| *known == currency)?;
        self.latest.lock().get(place).cloned()
    }

    /// By the clock that advanced further: the monotonic one may stop while the machine sleeps, the wall clock may be
    /// set back.
    fn age(&self, price: Price) -> Duration {
        let monotonic = self.clock.monotonic().saturating_sub(price.monotonic);
        monotonic.max(self.clock.now().since(price.at))
    }

    /// The agreement of the sources with a recent price, by index. After the start it waits for all of them, so that
    /// one alone does not decide.
    fn agreement(&self, currency: CurrencyCode, latest: &[Latest]) -> Result<Agreement<usize>, Disagreement> {
        let is_unread = |(source, latest): (&RateSource, &Latest)| {
            source.offers(currency) && latest.price.is_none() && latest.failure.is_none()
        };
        if self.sources.iter().zip(latest).any(is_unread) {
            return Err(Disagreement::Unread);
        }
        let prices = latest.iter().enumerate().filter_map(|(nth, latest)| Some((nth, latest.price?)));
        let fresh = prices.filter(|(_, price)| self.age(*price) < MAX_AGE);
        agree(fresh.map(|(nth, price)| (nth, price.price)).collect())
    }

    fn rate_of(
        &self,
        currency: CurrencyCode,
        latest: &[Latest],
        agreement: Result<Agreement<usize>, Disagreement>,
    ) -> Result<ExchangeRate, RateUnavailable> {
        let unavailable = |reason: &str| {
            let reason = reason.to_owned();
            RateUnavailable { currency, reason, retry_after: self.refresh.max(Duration::from_secs(1)) }
        };
        let Agreement { price, used, .. } = agreement.map_err(|disagreement| unavailable(disagreement.reason()))?;
        let prices = used.iter().filter_map(|nth| latest.get(*nth)?.price);
        let at = prices.map(|price| price.at).min().unwrap_or_default();
        Ok(ExchangeRate { value: price.normalize(), source: self.names(&used), at })
    }

    fn names(&self, used: &[usize]) -> String {
        let mut used = used.to_vec();
        used.sort_unstable();
        let names: Vec<&str> = used.iter().filter_map(|nth| self.sources.get(*nth)).map(RateSource::name).collect();
        let names = names.join(", ");
        match used.len() {
            1 => names,
            _ if names.len() <= MAX_NAMES => format!("median of {names}"),
            count => format!("median of {count} sources"),
        }
    }

    /// Logs changes since `before`, one standing per currency, and returns the current ones.
    fn log_changes(&self, before: &[Standing]) -> Vec<Standing> {
        let standing = |(nth, currency): (usize, &CurrencyCode)| {
            let now = match self.agreement(*currency, &self.latest_of(*currency).unwrap_or_default()) {
                Ok(Agreement { used, left_out, .. }) => {
                    let mut left_out: Vec<_> =
                        left_out.iter().filter_map(|nth| Some(self.sources.get(*nth)?.name().to_owned())).collect();
                    left_out.sort_unstable();
                    Standing::Agreed { left_out, is_alone: used.len() == 1 && self.sources.len() > 1 }
                }
                Err(disagreement) => Standing::Unavailable(disagreement),
            };
            if before.get(nth) != Some(&now) {
                now.log(*currency, before.get(nth));
            }
            now
        };
        self.currencies.iter().enumerate().map(standing).collect()
    }
}

impl ExchangeRates for MedianRates {
    fn currencies(&self) -> &[CurrencyCode] {
        &self.currencies
    }

    fn rate(&self, currency: CurrencyCode) -> Result<ExchangeRate, RateUnavailable> {
        let Some(latest) = self.latest_of(currency) else {
            let reason = "rates.currencies does not list it".to_owned();
            return Err(RateUnavailable { currency, reason, retry_after: self.refresh });
        };
        self.rate_of(currency, &latest, self.agreement(currency, &latest))
    }
}

impl Disagreement {
    const fn reason(self) -> &'static str {
        match self {
            Self::Unread => "not all sources have been read since the start",
            Self::NoPrice => "no source has had a price within the last ten minutes",
            Self::TooFarApart => "the sources differ by more than 2 %",
        }
    }
}

impl Standing {
    fn log(&self, currency: CurrencyCode, before: Option<&Self>) {
        match self {
            Self::Unavailable(disagreement) => {
                warn!(%currency, "there is no exchange rate: {}", disagreement.reason());
            }
            Self::Agreed { left_out, .. } if !left_out.is_empty() => {
                warn!(%currency, left_out = left_out.join(", "), "a source of rates is more than 2 % away from the others");
            }
            Self::Agreed { is_alone: true, .. } => {
                warn!(%currency, "only one source has an exchange rate: nothing notices when it is wrong");
            }
            Self::Agreed { .. } if before.is_some() => info!(%currency, "the sources of rates agree"),
            Self::Agreed { .. } => {}
        }
    }
}
