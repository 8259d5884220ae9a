//! Time to start.

use std::time::Duration;

use anyhow::Result;

use crate::opening::{Opened, open};
use crate::report::{Row, grouped};
use crate::stage::{Stage, Tool};

/// How often each start is measured; the median counts.
const TIMES: usize = 5;

/// Measures the time from spawning the process to its first answer: empty, with many open, after a crash.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    Tool::say("start-up");
    let count = tool.options.operations;
    let mut stage = tool.stage(Duration::ZERO).await?;
    let empty = restarts(&mut stage).await?;
    let half = count / 2;
    open(&stage, Opened::Handshakes, half).await?;
    open(&stage, Opened::Authentications, count - half).await?;
    let full = restarts(&mut stage).await?;
    let crashed = stage.crash().await?;

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

async fn restarts(stage: &mut Stage) -> Result<Restarts> {
    let (mut stops, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        stops.push(stage.restart().await?);
        starts.push(stage.service.started_in);
    }
    Ok(Restarts { stop: median(stops), start: median(starts) })
}

impl Stage {
    /// Stops the service and starts it again; says how long the stop took.
    async fn restart(&mut self) -> Result<Duration> {
        let stop = self.service.stop().await?;
        self.service = self.home.start()?;
        Ok(stop)
    }

    /// Kills the service and starts it again; says how long the start took.
    async fn crash(&mut self) -> Result<Duration> {
        self.service.kill().await?;
        self.service = self.home.start()?;
        Ok(self.service.started_in)
    }
}

/// The middle one; zero of none.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
