//! The port behind `GET /health/ready` and `GET /metrics`: this crate has no access to relays or databases.

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Value, json};
use usher_engine::UnixMillis;
use usher_engine::ports::DamagedRow;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};

/// The state of the service's parts.
#[async_trait]
pub trait ServiceStatus: Send + Sync {
    /// Whether the parts can work now: checked on each call, within a bounded time.
    async fn readiness(&self) -> Readiness;

    /// The effective configuration, without secrets.
    fn settings(&self) -> Vec<Setting>;

    /// The last signing time of each webhook secret since the service started or last read the secret, the current
    /// secret first.
    fn webhook_secret_uses(&self) -> Vec<Option<UnixMillis>>;

    /// The metrics of the parts. Cheap, because it is called every few seconds, and within a bounded time.
    async fn metrics(&self) -> Vec<Family>;
}

/// The effective value of a configuration key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Setting {
    /// The key, as in `docs/configuration.toml`.
    #[schema(example = "info.listen_port")]
    pub key: &'static str,
    /// Its value; `null` if it has neither a value nor a default. Of secrets, only whether there is one: `set` or `not set`.
    #[schema(schema_with = setting_value)]
    pub value: Value,
    /// Where the value comes from: `default`, `file`, `environment`, or for a secret `secret_file`.
    #[schema(pattern = "^(default|file|environment|secret_file)$", example = "default")]
    pub source: &'static str,
}

fn setting_value() -> RefOr<Schema> {
    let of = |kind| ObjectBuilder::new().schema_type(kind);
    let entry = OneOfBuilder::new().item(of(Type::String)).item(of(Type::Integer));
    let list = ArrayBuilder::new().items(RefOr::T(entry.build().into()));
    let one = OneOfBuilder::new().item(of(Type::String)).item(of(Type::Integer)).item(of(Type::Boolean));
    RefOr::T(one.item(list).item(of(Type::Null)).examples([json!(3000)]).build().into())
}

/// Whether the parts can work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The operator's relays.
    pub relays: RelaysReadiness,
    /// The store has just read and written successfully.
    pub store: bool,
    /// Damaged rows that were set aside.
    pub damaged: Vec<DamagedRow>,
    /// The Lightning wallet.
    pub wallet: WalletReadiness,
    /// The mints at which the ticket wallet has a balance or unfinished jobs.
    pub mints: Vec<MintReadiness>,
    /// The exchange rate of each configured currency.
    pub rates: Vec<RateReadiness>,
    /// When `usher backup` has made the last backup.
    pub last_backup: Option<UnixMillis>,
}

/// The exchange rate of a currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReadyRate)]
pub struct RateReadiness {
    /// The code of the currency.
    #[schema(example = "EUR")]
    pub currency: String,
    /// Why there is no rate now.
    pub problem: Option<String>,
    /// The sources that may have it.
    pub sources: Vec<RateSourceReadiness>,
}

/// A source of an exchange rate. It is not asked for this response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReadyRateSource)]
pub struct RateSourceReadiness {
    /// Its name: that of the preset, or the host.
    #[schema(example = "kraken")]
    pub name: String,
    /// How many seconds ago its last price was read; `null` if it has had none since the start.
    pub age_seconds: Option<u64>,
    /// Why its last response was of no use, or why it is left out.
    pub problem: Option<String>,
}

/// A mint. It is not asked for this response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReadyMint)]
pub struct MintReadiness {
    /// Its address.
    #[schema(example = "https://mint.example")]
    pub mint_url: String,
    /// Whether it responded to the last request, other than with a server error; `null` when none was sent since the
    /// start.
    pub responds: Option<bool>,
    /// How many jobs (to mint, redeem, verify or withdraw) are not finished. They continue on their own.
    pub unfinished_jobs: usize,
}

/// The Lightning backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReadyWallet)]
pub struct WalletReadiness {
    #[expect(missing_docs, reason = "the response needs no description of it")]
    #[serde(rename = "ready")]
    pub connected: bool,
    /// Which one.
    pub backend: &'static str,
    /// What its operator should know: `disputed_settlements` while it reports payments as received whose proof or amount is
    /// wrong; if the service runs it itself, also the codes of the `warnings` of `GET /wallet/info`.
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

/// Samples of one name. Name and labels follow Prometheus' conventions: `usher_…`, base units, counters end in
/// `_total`; a label has few values, none of which identifies a user, a stream or a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name.
    pub name: &'static str,
    /// A description in one sentence.
    pub help: &'static str,
    /// The samples: all of the same kind, with distinct labels.
    pub samples: Vec<Sample>,
}

/// A number or a histogram.
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
    /// A number that only grows, from 0 at the start of the process.
    Counter(u64),
    /// A current value.
    Gauge(f64),
    /// A distribution of values.
    Histogram {
        /// Inclusive upper bounds and cumulative counts, ascending.
        buckets: Vec<(f64, u64)>,
        /// The number of all values.
        count: u64,
        /// The sum of all values.
        sum: f64,
    },
}

impl Family {
    /// A family of one sample without labels.
    pub fn single(name: &'static str, help: &'static str, measure: Measure) -> Self {
        Self { name, help, samples: vec![Sample { labels: Vec::new(), measure }] }
    }

    /// A family of counters with one label.
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
