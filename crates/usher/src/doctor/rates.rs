//! Checks the sources of exchange rates.

use std::sync::Arc;

use usher_engine::ports::SystemClock;
use usher_rates::{MedianRates, SourceStatus};

use super::finding::Finding;
use crate::config::Config;
use crate::service_options::rate_options;

const CHECK: &str = "rates";

pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) {
    let options = match rate_options(config) {
        Ok(Some(options)) => options,
        Ok(None) => {
            findings.push(Finding::ok(CHECK, "all amounts are in millisats (rates.sources is not set)"));
            return;
        }
        Err(failure) => {
            findings.push(Finding::fail(CHECK, failure.to_string(), "correct the configuration"));
            return;
        }
    };
    let rates = MedianRates::new(options, Arc::new(SystemClock));
    rates.read().await;
    for status in rates.status() {
        let currency = status.currency;
        findings.extend(status.sources.iter().map(|source| of_source(currency.as_str(), source)));
        findings.push(match status.rate {
            Ok(rate) => Finding::ok(CHECK, format!("1 BTC is {} {currency} ({})", rate.value, rate.source)),
            Err(unavailable) => Finding::fail(
                CHECK,
                unavailable.to_string(),
                format!("requests in {currency} get 503 rate_unavailable: check rates.sources"),
            ),
        });
    }
}

fn of_source(currency: &str, source: &SourceStatus) -> Finding {
    let name = &source.name;
    match (&source.price, &source.failure) {
        (_, Some(failure)) => Finding::warn(
            CHECK,
            format!("{name} has no price in {currency}: {failure}"),
            "check the entry in rates.sources, and whether the source has this currency",
        ),
        (Some(price), None) if source.is_left_out => Finding::warn(
            CHECK,
            format!("{name}: 1 BTC is {price} {currency}, more than 2 % away from the others"),
            "it is left out; check the entry in rates.sources",
        ),
        (Some(price), None) => Finding::ok(CHECK, format!("{name}: 1 BTC is {price} {currency}")),
        (None, None) => Finding::warn(CHECK, format!("{name} has not answered for {currency}"), "check rates.sources"),
    }
}
