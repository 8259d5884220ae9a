//! Numbers as metrics.

use usher_api::{Measure, Sample};

pub(super) fn gauge(label: &'static str, value: &str, count: u64) -> Sample {
    Sample { labels: vec![(label, value.to_owned())], measure: number(count) }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a floating-point number; exact up to 2^53")]
pub(super) fn number(count: u64) -> Measure {
    Measure::Gauge(count as f64)
}
