//! Time to start.

use std::time::Duration;

use anyhow::Result;

use crate::fixture::{Fixture, Tool};
use crate::open_streams::{Opened, open};
use crate::report::{Row, grouped};

/// How often each start is measured; the median is reported.
const TIMES: usize = 5;

/// Measures the time from spawning the process to its first answer: empty, with many open, after a crash.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    Tool::say("start-up");
    let count = tool.options.operations;
    let mut fixture = tool.fixture(Duration::ZERO).await?;
    let empty = restarts(&mut fixture).await?;
    let half = count / 2;
    open(&fixture, Opened::Handshakes, half).await?;
    open(&fixture, Opened::Authentications, count - half).await?;
    let full = restarts(&mut fixture).await?;
    let crashed = fixture.crash().await?;

    let row = |under: String, time: Duration, aim| {
        let ms = time.as_secs_f64() * 1000.0;
        let what = "Start, until /health is answered".to_owned();
        Row { what, under, result: format!("{ms:.1} ms"), value: ms, aim, ..Row::default() }
    };
    let open = format!("{} operations open, half of them authentications", grouped(count));
    Ok(vec![
        row("empty".to_owned(), empty.start, "20 ms"),
        row(open.clone(), full.start, "2,000 ms"),
        row(format!("{open}, after SIGKILL"), crashed, "2,000 ms"),
        Row { what: "Stop, after SIGTERM".to_owned(), ..row(open, full.stop, "") },
    ])
}

/// Medians of several restarts.
struct Restarts {
    stop: Duration,
    start: Duration,
}

/// Stops the service and starts it again; the median time of several starts.
pub(crate) async fn restart(fixture: &mut Fixture) -> Result<Duration> {
    Ok(restarts(fixture).await?.start)
}

async fn restarts(fixture: &mut Fixture) -> Result<Restarts> {
    let (mut stops, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        stops.push(fixture.restart().await?);
        starts.push(fixture.service.started_in);
    }
    Ok(Restarts { stop: median(stops), start: median(starts) })
}

impl Fixture {
    /// Stops the service and starts it again; says how long the stop took.
    async fn restart(&mut self) -> Result<Duration> {
        let stop = self.service.stop().await?;
        self.service = self.instance.start()?;
        Ok(stop)
    }

    /// Kills the service and starts it again; says how long the start took.
    async fn crash(&mut self) -> Result<Duration> {
        self.service.kill().await?;
        self.service = self.instance.start()?;
        Ok(self.service.started_in)
    }
}

/// The middle one; zero of none.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
