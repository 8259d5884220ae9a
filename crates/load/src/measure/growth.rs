//! How cost grows: with open operations, with the service's relays, with users at once. What each costs is to stay the
//! same; the first figure that does not is named.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::logins::{Conditions, log_in};
use super::startup;
use crate::fixture::{Fixture, Tool};
use crate::open_streams::{Bounds, Opened, Starts, open, run_closed_loop};
use crate::report::{Row, float, grouped, per_second};

/// How long the service may put itself in order before its memory is read.
const SETTLE: Duration = Duration::from_secs(3);

/// Users who log in at once where relays are counted.
const USERS_AT_RELAYS: usize = 100;

/// A figure bends where it is this many times the lowest one before it.
const BENDS: f64 = 1.5;

/// Fewer logins than this say little.
const LOGINS: usize = 1_000;

/// Start calls, over 32 connections.
const STARTS: Bounds = Bounds { connections: 32, calls: 30_000, time: Duration::from_secs(60) };

/// A figure at each count.
struct Line {
    name: &'static str,
    points: Vec<(f64, f64)>,
}

/// Adds a point to each line that has a figure.
fn add<const LINES: usize>(lines: &mut [Line; LINES], x: f64, figures: [Option<f64>; LINES]) {
    for (line, figure) in lines.iter_mut().zip(figures) {
        line.points.extend(figure.filter(|y| *y > 0.0).map(|y| (x, y)));
    }
}

fn lines<const LINES: usize>(names: [&'static str; LINES]) -> [Line; LINES] {
    names.map(|name| Line { name, points: Vec::new() })
}

/// Measures all three. What cannot be measured here is reported and left out.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut open = lines([
        "start call: µs of Usher's processor time",
        "start call: p99, µs",
        "memory: bytes for each open handshake",
        "start of the service: µs for each open handshake",
    ]);
    for &count in &tool.options.growth_open {
        report(open_operations(tool, count, &mut rows, &mut open).await);
    }
    let mut relays = lines(["login with so many relays: µs of Usher's processor time"]);
    for &count in &tool.options.growth_relays {
        let under = format!("{USERS_AT_RELAYS} users at once, {} relays", grouped(count));
        let measured = logins(tool, under, (count, USERS_AT_RELAYS), &mut rows).await;
        report(measured.map(|row| add(&mut relays, float(count), [row.0])));
    }
    let mut users = lines(["login: µs of Usher's processor time", "login: p50 for each user at once, µs"]);
    for &count in &tool.options.growth_users {
        let under = format!("{} users at once", grouped(count));
        let measured = logins(tool, under, (1, count), &mut rows).await;
        report(measured.map(|row| add(&mut users, float(count), [row.0, row.1])));
    }
    for line in open.iter().chain(&relays).chain(&users) {
        if let Some((x, factor)) = first_bend(line) {
            Tool::say(&format!("{} bends at {x:.0}: {factor:.1} times the lowest before it", line.name));
        }
    }
    Ok(rows)
}

fn report(measured: Result<()>) {
    if let Err(error) = measured {
        Tool::say(&format!("not measured: {error:#}"));
    }
}

async fn open_operations(tool: &Tool, count: usize, rows: &mut Vec<Row>, figures: &mut [Line; 4]) -> Result<()> {
    let under = format!("{} handshakes open", grouped(count));
    Tool::say(&format!("growth: {under}"));
    let mut fixture = tool.fixture(Duration::ZERO).await?;
    let empty = fixture.service.resident_bytes()?;
    open(&fixture, Opened::Handshakes, count).await?;
    tokio::time::sleep(SETTLE).await;
    let bytes = fixture.service.resident_bytes()?.saturating_sub(empty);
    let row = starts(&fixture, &under).await?;
    let started_in = startup::restart(&mut fixture).await?;
    let x = float(count);
    let (each, us) = (float(usize::try_from(bytes)?) / x, started_in.as_secs_f64() * 1e6);
    add(figures, x, [row.usher_us_each, row.p99_ms.map(|ms| ms * 1000.0), Some(each), Some(us / x)]);
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

/// Start calls on this service.
async fn starts(fixture: &Fixture, under: &str) -> Result<Row> {
    let script = Arc::new(Starts::new(fixture, Opened::Handshakes, STARTS.calls));
    let meter = fixture.meter()?;
    let mut latencies = run_closed_loop(fixture.service.address(), STARTS, script).await?;
    let usage = meter.stop()?;
    let (result, value) = per_second(latencies.len(), usage.0);
    let (what, under, count) = ("Start calls".to_owned(), under.to_owned(), latencies.len());
    let (p50_ms, p99_ms) = (latencies.percentile_ms(50), latencies.percentile_ms(99));
    Ok(Row { what, under, result, value, p50_ms, p99_ms, ..Row::default() }.with_usage(count, usage))
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

fn first_bend(line: &Line) -> Option<(f64, f64)> {
    let mut lowest = f64::INFINITY;
    line.points.iter().find_map(|&(x, y)| {
        let factor = y / lowest;
        lowest = lowest.min(y);
        (factor >= BENDS).then_some((x, factor))
    })
}
