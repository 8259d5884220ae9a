//! Readiness and metrics of exchange rates.

use rust_decimal::prelude::ToPrimitive as _;
use usher_api::{Family, Measure, RateReadiness, RateSourceReadiness, Sample};
use usher_rates::{CurrencyStatus, SourceStatus};

use super::measures::{gauge, number};

pub(super) fn readiness(status: Vec<CurrencyStatus>) -> Vec<RateReadiness> {
    let source = |source: SourceStatus| RateSourceReadiness {
        problem: match (&source.failure, source.is_left_out) {
            (Some(failure), _) => Some(failure.to_string()),
            (None, true) => Some("it is more than 2 % away from the others".to_owned()),
            (None, false) => None,
        },
        age_seconds: source.age.map(|age| age.as_secs()),
        name: source.name,
    };
    let currency = |status: CurrencyStatus| RateReadiness {
        currency: status.currency.to_string(),
        problem: status.rate.err().map(|unavailable| unavailable.reason),
        sources: status.sources.into_iter().map(source).collect(),
    };
    status.into_iter().map(currency).collect()
}

pub(super) fn families(status: &[CurrencyStatus]) -> Vec<Family> {
    let rates = status.iter().filter_map(|status| {
        let value = status.rate.as_ref().ok()?.value.to_f64()?;
        Some(Sample { labels: vec![("currency", status.currency.to_string())], measure: Measure::Gauge(value) })
    });
    let of_sources = |value: fn(&SourceStatus) -> Option<u64>| {
        let samples = status.iter().flat_map(move |status| {
            status.sources.iter().filter_map(move |source| {
                let labels = vec![("currency", status.currency.to_string()), ("source", source.name.clone())];
                Some(Sample { labels, measure: number(value(source)?) })
            })
        });
        samples.collect()
    };
    vec![
        Family {
            name: "usher_exchange_rate",
            help: "The price of one bitcoin, in the major unit of the currency.",
            samples: rates.collect(),
        },
        Family {
            name: "usher_exchange_rate_available",
            help: "Whether there is an exchange rate: the sources agree, and have prices that are not too old.",
            samples: status
                .iter()
                .map(|status| gauge("currency", status.currency.as_str(), u64::from(status.rate.is_ok())))
                .collect(),
        },
        Family {
            name: "usher_exchange_rate_source_age_seconds",
            help: "How long ago the last price of a source was read.",
            samples: of_sources(|source| source.age.map(|age| age.as_secs())),
        },
        Family {
            name: "usher_exchange_rate_source_left_out",
            help: "Whether a source is more than 2 % away from the others.",
            samples: of_sources(|source| Some(u64::from(source.is_left_out))),
        },
    ]
}
