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
    let (_, empty) = restarts(&mut fixture).await?;
    let half = count / 2;
    open(&fixture, Opened::Handshakes, half).await?;
    open(&fixture, Opened::Authentications, count - half).await?;
    let (stop, full) = restarts(&mut fixture).await?;
    fixture.service.kill().await?;
    let crashed = fixture.instance.start()?.started_in;

    let row = |under: String, time: Duration, aim| {
        let ms = time.as_secs_f64() * 1000.0;
        let what = "Start, until /health is answered".to_owned();
        Row { what, under, result: format!("{ms:.1} ms"), aim, ..Row::default() }
    };
    let open = format!("{} operations open, half of them authentications", grouped(count));
    Ok(vec![
        row("empty".to_owned(), empty, "20 ms"),
        row(open.clone(), full, "2,000 ms"),
        row(format!("{open}, after SIGKILL"), crashed, "2,000 ms"),
        Row { what: "Stop, after SIGTERM".to_owned(), ..row(open, stop, "") },
    ])
}

/// Stops the service and starts it several times; the medians of both times.
async fn restarts(fixture: &mut Fixture) -> Result<(Duration, Duration)> {
    let (mut stops, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        stops.push(fixture.service.stop().await?);
        fixture.service = fixture.instance.start()?;
        starts.push(fixture.service.started_in);
    }
    Ok((median(stops), median(starts)))
}

/// The middle one; zero of none.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
