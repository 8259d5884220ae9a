//! Prints the table of results.

use std::fmt::Write as _;
use std::time::Duration;

use crate::process_usage::Usage;

#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) under: String,
    pub(crate) result: String,
    /// Calls or logins that failed or got no answer.
    pub(crate) lost: usize,
    pub(crate) aim: &'static str,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) processors: Option<Usage>,
    /// Processor time that one call or login cost the service, in microseconds.
    pub(crate) usher_us_each: Option<f64>,
    /// Round trips to a distant PostgreSQL server for each call or login.
    pub(crate) round_trips_each: Option<f64>,
}

impl Row {
    /// Notes how long it took to do `count` of it and who used the processors.
    pub(crate) fn with_usage(mut self, count: usize, (elapsed, usage): (Duration, Usage)) -> Self {
        let seconds = elapsed.as_secs_f64();
        self.processors = Some(usage);
        self.round_trips_each =
            (count > 0 && usage.round_trips > 0).then(|| round_trips(usage.round_trips) / float(count));
        self.usher_us_each = (count > 0).then(|| usage.usher * seconds * 1e6 / float(count));
        self
    }
}

/// The table, below what the machine is.
pub(crate) fn markdown(machine: &str, rows: &[Row]) -> String {
    let mut out = format!("{machine}\n\n");
    out.push_str(
        "| Measured | Under | Result | p50 ms | p99 ms | Aim | Usher's CPU each | Database round trips each | Cores used: usher, relay (and Lightning wallet), load; others |\n\
         | --- | --- | --- | ---: | ---: | --- | ---: | ---: | --- |\n",
    );
    for row in rows {
        let number = |value: Option<f64>, places| value.map_or_else(String::new, |value| format!("{value:.places$}"));
        let each = row.usher_us_each.map_or_else(String::new, |us| format!("{us:.0} µs"));
        let trips = number(row.round_trips_each, 2);
        let cores = row.processors.map_or_else(String::new, |used| {
            format!("{:.2}, {:.2}, {:.2}; {:.2}", used.usher, used.relay, used.load, used.others)
        });
        let (p50, p99) = (number(row.p50_ms, 2), number(row.p99_ms, 2));
        let Row { what, under, result, aim, .. } = row;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {what} | {under} | {result} | {p50} | {p99} | {aim} | {each} | {trips} | {cores} |");
    }
    out
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
fn round_trips(count: u64) -> f64 {
    count as f64
}

/// A count as people write it: `100,000`.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many in such a time, as people write it: `12,345/s`.
pub(crate) fn per_second(count: usize, elapsed: Duration) -> String {
    let rate = float(count) / elapsed.as_secs_f64().max(f64::EPSILON);
    format!("{}/s", grouped(format!("{rate:.0}").parse().unwrap_or(0)))
}
