//! The port behind `GET /health/ready` and `GET /metrics`: this crate knows neither relays nor databases.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::DamagedRow;

/// The state of the service's parts.
#[async_trait]
pub trait ServiceStatus: Send + Sync {
    /// Whether the parts can work now: checked, not remembered, within a bounded time.
    async fn readiness(&self) -> Readiness;

    /// When each secret of the webhook signed last since the service started or read it anew, the current one first.
    fn webhook_secret_uses(&self) -> Vec<Option<UnixMillis>>;

    /// The metrics of the parts. Cheap, because it is called every few seconds; within a bounded time.
    async fn metrics(&self) -> Vec<Family>;
}

/// Whether the parts can do their work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The operator's relays.
    pub relays: RelaysReadiness,
    /// The store has just read and written.
    pub store: bool,
    /// Rows of the store that are damaged and were set aside.
    pub damaged: Vec<DamagedRow>,
    /// The Lightning wallet.
    pub wallet: WalletReadiness,
    /// The mints at which the ticket wallet has a balance or unfinished jobs.
    pub mints: Vec<MintReadiness>,
    /// The exchange rate of each configured currency.
    pub rates: Vec<RateReadiness>,
}

/// An exchange rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateReadiness {
    /// Of which currency.
    pub currency: String,
    /// Why there is none now.
    pub problem: Option<String>,
    /// The sources that may have it.
    pub sources: Vec<RateSourceReadiness>,
}

/// A source of an exchange rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSourceReadiness {
    /// Its name.
    pub name: String,
    /// How long ago its last price was read.
    pub age_seconds: Option<u64>,
    /// Why it could not be read last, or is left out.
    pub problem: Option<String>,
}

/// A mint, as its last response shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MintReadiness {
    /// Its address.
    pub mint_url: String,
    /// Jobs of the ticket wallet that are not finished.
    pub unfinished_jobs: usize,
    /// Whether it responded to the last request; `None` when none was sent since the start.
    pub responds: Option<bool>,
}

/// The Lightning wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletReadiness {
    /// Which: its name in the configuration.
    pub backend: &'static str,
    /// Whether it can be reached; always true without a backend.
    pub connected: bool,
    /// The codes of what its operator should know.
    pub warnings: Vec<&'static str>,
}

/// The operator's relays. Users' relays are not included, because the service uses its own relays first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelaysReadiness {
    /// How many are connected.
    pub connected: usize,
    /// How many relays there are.
    pub total: usize,
}

/// Samples of one name. Name and labels follow Prometheus' conventions: `usher_…`, base units, counters end in `_total`;
/// a label has few values and none that names a user, a stream or a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// Its samples: all of the same kind, no two with the same labels.
    pub samples: Vec<Sample>,
}

/// One number, or one histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values.
    pub labels: Vec<(&'static str, String)>,
    /// The measured value.
    pub measure: Measure,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// Only grows, from 0 at the start of the process.
    Counter(u64),
    /// Its current value.
    Gauge(f64),
    /// How often it was how much.
    Histogram {
        /// Upper bound, inclusive, and how many were at most that: cumulative, ascending.
        buckets: Vec<(f64, u64)>,
        /// How many there were in all.
        count: u64,
        /// Their sum.
        sum: f64,
    },
}

impl Family {
    /// A family of one sample without labels.
    pub fn single(name: &'static str, help: &'static str, measure: Measure) -> Self {
        Self { name, help, samples: vec![Sample { labels: Vec::new(), measure }] }
    }

    /// A family of counters by one label.
    pub fn counters(
        name: &'static str,
        help: &'static str,
        label: &'static str,
        counts: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Self {
        let sample = |(value, count): (&str, u64)| Sample {
            labels: vec![(label, value.to_owned())],
            measure: Measure::Counter(count),
        };
        Self { name, help, samples: counts.into_iter().map(sample).collect() }
    }
}
