//! Start calls and polls per second, while more and more streams are open.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::cli::Measurement;
use crate::closed_loop::{Bounds, Script, run_closed_loop};
use crate::fixture::{Fixture, Tool};
use crate::http::Answer;
use crate::open_streams::{Opened, Starts, finish, open};
use crate::report::{Row, grouped, per_second};
use crate::{api, report};

/// Streams that are finished to be polled: more than the 4,096 that the service keeps in memory, so that polling all of
/// them in turn reads each from the store.
const FINISHED: usize = 6_000;

/// The last of them, which are in memory.
const RECENT: usize = 2_000;

/// A step through the streams that is coprime to their number in nearly every case, so that polls jump about.
const STRIDE: usize = 7_919;

/// Longest measurement of start calls.
const STARTS_TIME: Duration = Duration::from_secs(60);

/// Measures start calls or polls or both at each number of open streams, each on a new service.
pub(crate) async fn measure(tool: &Tool, what: Measurement) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &count in &tool.options.open {
        Tool::say(&format!("calls with {} handshakes open", grouped(count)));
        let fixture = tool.fixture(Duration::ZERO).await?;
        let opened = open(&fixture, Opened::Handshakes, count.max(1)).await?;
        let under = format!("{} connections, {} handshakes open", tool.options.connections, grouped(count));
        if what.includes(Measurement::Polls) {
            let opened = opened.into_iter().map(|(stream, _)| stream).collect();
            rows.push(polls(tool, &fixture, "Polls, nothing new", &under, opened, STRIDE).await?);
            let finished = finish(&fixture, FINISHED).await?;
            let recent = finished.iter().skip(FINISHED - RECENT).cloned().collect();
            rows.push(polls(tool, &fixture, "Polls, just finished", &under, recent, STRIDE).await?);
            rows.push(polls(tool, &fixture, "Polls, finished long ago", &under, finished, 1).await?);
        }
        if what.includes(Measurement::Starts) {
            rows.push(starts(tool, &fixture, &under).await?);
        }
    }
    // First all of one kind, then all of the next: a column that is to be flat is read downwards.
    rows.sort_by(|a, b| a.what.cmp(&b.what));
    Ok(rows)
}

/// Start calls on this service.
pub(crate) async fn starts(tool: &Tool, fixture: &Fixture, under: &str) -> Result<Row> {
    let calls = tool.options.starts;
    let bounds = Bounds { connections: tool.options.connections, calls, time: STARTS_TIME };
    let script = Arc::new(Starts::new(fixture, Opened::Handshakes, calls));
    run(
        fixture,
        bounds,
        script,
        Row { what: "Start calls".to_owned(), under: under.to_owned(), aim: "10,000/s", ..Row::default() },
    )
    .await
}

async fn polls(
    tool: &Tool,
    fixture: &Fixture,
    what: &str,
    under: &str,
    streams: Vec<String>,
    stride: usize,
) -> Result<Row> {
    let time = Duration::from_secs(tool.options.poll_seconds);
    let bounds = Bounds { connections: tool.options.connections, calls: usize::MAX, time };
    let empty = what.contains("nothing new");
    let token = fixture.instance.token().to_owned();
    let requests = streams.iter().map(|stream| api::events(&token, stream)).collect();
    let script = Arc::new(Polls { requests, stride, empty });
    let row = Row { what: what.to_owned(), under: under.to_owned(), aim: "50,000/s", ..Row::default() };
    run(fixture, bounds, script, row).await
}

async fn run(fixture: &Fixture, bounds: Bounds, script: Arc<impl Script>, row: Row) -> Result<Row> {
    let meter = fixture.meter()?;
    let mut latencies = run_closed_loop(fixture.service.address(), bounds, script).await?;
    let usage = meter.stop()?;
    let (result, value) = per_second(latencies.len(), usage.0);
    let (p50_ms, p99_ms) = (latencies.percentile_ms(50), latencies.percentile_ms(99));
    Ok(report::Row { result, value, p50_ms, p99_ms, ..row }.with_usage(latencies.len(), usage))
}

/// Polls streams in turn.
struct Polls {
    requests: Vec<Vec<u8>>,
    stride: usize,
    empty: bool,
}

impl Script for Polls {
    fn request(&self, nth: usize, out: &mut Vec<u8>) {
        if let Some(request) = self.requests.get(nth.wrapping_mul(self.stride) % self.requests.len().max(1)) {
            out.extend_from_slice(request);
        }
    }

    fn answer(&self, answer: &Answer<'_>) -> Result<()> {
        // Parsing the page would cost more than the poll does.
        let empty = answer.ok()?.starts_with(br#"{"events":[]"#);
        ensure!(empty == self.empty, "a poll of a stream answered {}", String::from_utf8_lossy(answer.body));
        Ok(())
    }
}
