//! The metrics of the HTTP API, and the Prometheus text of all metrics.

use std::time::Duration;

use http::StatusCode;
use prometheus::core::Collector as _;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{HistogramOpts, HistogramVec, TextEncoder};

use crate::service_status::{Family, Measure, Sample};

/// Upper bounds in seconds. Most requests take less than a millisecond, a start takes a commit (a few milliseconds),
/// and the last bounds are for requests that end at a time limit (`limits.request_timeout`, 30 s).
const SECONDS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

pub(crate) struct HttpMetrics {
    /// Never `None`: name and labels are valid constants.
    requests: Option<HistogramVec>,
}

impl HttpMetrics {
    pub(crate) fn new() -> Self {
        let help = "Time until the answer began, by method, route and class of the status. A call that waited on purpose \
                    (long poll) has the route with `?wait`.";
        let options = HistogramOpts::new("usher_http_request_duration_seconds", help).buckets(SECONDS.to_vec());
        Self { requests: HistogramVec::new(options, &["method", "route", "status"]).ok() }
    }

    /// Records a request whose response has begun; `waited` if it waited on purpose (long poll).
    pub(crate) fn observe_request(
        &self,
        method: &'static str,
        route: &str,
        status: StatusCode,
        latency: Duration,
        waited: bool,
    ) {
        let Some(requests) = &self.requests else { return };
        let (status, seconds) = (class(status), latency.as_secs_f64());
        if waited {
            requests.with_label_values(&[method, &format!("{route}?wait"), status]).observe(seconds);
        } else {
            requests.with_label_values(&[method, route, status]).observe(seconds);
        }
    }

    /// The metrics of the API and these families in Prometheus' text format; an error if a family is invalid.
    pub(crate) fn write(&self, families: Vec<Family>) -> Result<String, prometheus::Error> {
        let measured = self.requests.iter().flat_map(|requests| requests.collect());
        let mut all: Vec<_> = measured.chain(families.into_iter().map(family)).collect();
        // Without any measurement yet: the encoder rejects a name without a sample.
        all.retain(|family| !family.get_metric().is_empty());
        all.sort_by(|one, other| one.name().cmp(other.name()));
        TextEncoder::new().encode_to_string(&all)
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

fn family(from: Family) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(from.name.to_owned());
    family.set_help(from.help.to_owned());
    family.set_field_type(match from.samples.first().map(|sample| &sample.measure) {
        Some(Measure::Counter(_)) => MetricType::COUNTER,
        Some(Measure::Histogram { .. }) => MetricType::HISTOGRAM,
        Some(Measure::Gauge(_)) | None => MetricType::GAUGE,
    });
    family.set_metric(from.samples.into_iter().map(metric).collect());
    family
}

#[expect(clippy::cast_precision_loss, reason = "a metric is a floating-point number; exact up to 2^53")]
fn metric(Sample { labels, measure }: Sample) -> Metric {
    let label = |(name, value): (&str, String)| {
        let mut label = LabelPair::default();
        label.set_name(name.to_owned());
        label.set_value(value);
        label
    };
    let mut metric = Metric::from_label(labels.into_iter().map(label).collect());
    match measure {
        Measure::Counter(count) => {
            let mut counter = Counter::default();
            counter.set_value(count as f64);
            metric.set_counter(counter);
        }
        Measure::Gauge(value) => {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        Measure::Histogram { buckets, count, sum } => {
            let mut histogram = Histogram::default();
            histogram.set_bucket(buckets.into_iter().map(bucket).collect());
            histogram.set_sample_count(count);
            histogram.set_sample_sum(sum);
            metric.set_histogram(histogram);
        }
    }
    metric
}

fn bucket((bound, count): (f64, u64)) -> Bucket {
    let mut bucket = Bucket::default();
    bucket.set_upper_bound(bound);
    bucket.set_cumulative_count(count);
    bucket
}
