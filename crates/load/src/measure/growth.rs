//! How cost grows: with open operations, with the service's relays, with users at once. What each costs is to stay the
//! same; the first figure that does not is named.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::logins::{Conditions, log_in};
use super::{call_rate, startup};
use crate::fixture::Tool;
use crate::open_streams::{Opened, open};
use crate::plot::{self, Chart, Line};
use crate::report::{Row, float, grouped};

/// How long the service may put itself in order before its memory is read.
const SETTLE: Duration = Duration::from_secs(3);

/// Users who log in at once where relays are counted.
const USERS_AT_RELAYS: usize = 100;

/// A figure bends where it is this many times the lowest one before it.
const BENDS: f64 = 1.5;

/// Fewer logins than this say little.
const LOGINS: usize = 1_000;

/// Measures all three, and writes the plot. What cannot be measured here is reported and left out.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut open = Chart::new(
        "open operations",
        &[
            "start call: µs of Usher's processor time",
            "start call: p99, µs",
            "memory: bytes for each open handshake",
            "start of the service: µs for each open handshake",
        ],
    );
    for &count in &tool.options.growth_open {
        report(open_operations(tool, count, &mut rows, &mut open).await);
    }
    let mut relays = Chart::new("relays of the service", &["login: µs of Usher's processor time"]);
    for &count in &tool.options.growth_relays {
        let under = format!("{USERS_AT_RELAYS} users at once, {} relays", grouped(count));
        report(
            logins(tool, under, (count, USERS_AT_RELAYS), &mut rows).await.map(|row| relays.add(float(count), [row.0])),
        );
    }
    let mut users =
        Chart::new("users at once", &["login: µs of Usher's processor time", "login: p50 for each user at once, µs"]);
    for &count in &tool.options.growth_users {
        let under = format!("{} users at once", grouped(count));
        report(logins(tool, under, (1, count), &mut rows).await.map(|row| users.add(float(count), [row.0, row.1])));
    }
    let charts = [open, relays, users];
    for line in charts.iter().flat_map(|chart| &chart.lines) {
        if let Some((x, factor)) = first_bend(line) {
            Tool::say(&format!("{} bends at {x:.0}: {factor:.1} times the lowest before it", line.name));
        }
    }
    if let Some(file) = &tool.options.plot {
        std::fs::write(file, plot::svg(&charts)?).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(rows)
}

fn report(measured: Result<()>) {
    if let Err(error) = measured {
        Tool::say(&format!("not measured: {error:#}"));
    }
}

async fn open_operations(tool: &Tool, count: usize, rows: &mut Vec<Row>, chart: &mut Chart) -> Result<()> {
    let under = format!("{} handshakes open", grouped(count));
    Tool::say(&format!("growth: {under}"));
    let mut fixture = tool.fixture(Duration::ZERO).await?;
    let empty = fixture.service.resident_bytes()?;
    open(&fixture, Opened::Handshakes, count).await?;
    tokio::time::sleep(SETTLE).await;
    let bytes = fixture.service.resident_bytes()?.saturating_sub(empty);
    let row = call_rate::starts(tool, &fixture, &under).await?;
    let started_in = startup::restart(&mut fixture).await?;
    let x = float(count);
    let (each, us) = (float(usize::try_from(bytes)?) / x, started_in.as_secs_f64() * 1e6);
    chart.add(x, [row.usher_us_each, row.p99_ms.map(|ms| ms * 1000.0), Some(each), Some(us / x)]);
    rows.push(row);
    rows.push(Row {
        what: "Memory and start".to_owned(),
        under,
        result: format!("{each:.0} B each, {} MiB more than empty; started in {:.0} ms", bytes >> 20, us / 1000.0),
        value: each,
        ..Row::default()
    });
    Ok(())
}

/// Logins with so many relays, by so many users at once: the processor time of each, and the median time divided by the users,
/// in microseconds.
async fn logins(
    tool: &Tool,
    under: String,
    (relays, users): (usize, usize),
    rows: &mut Vec<Row>,
) -> Result<(Option<f64>, Option<f64>)> {
    Tool::say(&format!("growth: {under}"));
    let fixture = tool.fixture_with_relays(Duration::ZERO, relays).await?;
    let row = log_in(&fixture, Conditions::at_once(users, LOGINS.max(users)), under).await?;
    let p50_us = row.p50_ms.map(|ms| ms * 1000.0 / float(users));
    let figures = (row.usher_us_each, p50_us);
    rows.push(row);
    Ok(figures)
}

/// Where the line first is [`BENDS`] times the lowest point before it, and how many times.
fn first_bend(line: &Line) -> Option<(f64, f64)> {
    let mut lowest = f64::INFINITY;
    line.points.iter().find_map(|&(x, y)| {
        let factor = y / lowest;
        lowest = lowest.min(y);
        (factor >= BENDS).then_some((x, factor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bend(ys: &[f64]) -> Option<(f64, f64)> {
        let points = (1..).map(f64::from).zip(ys.iter().copied()).collect();
        first_bend(&Line { name: "", points })
    }

    #[test]
    fn figure_bends_where_it_exceeds_the_lowest_before() {
        assert_eq!(bend(&[10.0, 10.0, 11.0, 9.0]), None);
        assert_eq!(bend(&[40.0, 10.0, 14.0, 20.0, 80.0]), Some((4.0, 2.0)));
        assert_eq!(bend(&[]), None);
    }
}
