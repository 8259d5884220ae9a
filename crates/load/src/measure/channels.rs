//! Memory and time to start with channels of the Lightning node inside the service.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::api;
use crate::channel_network::ChannelNetwork;
use crate::fixture::{Fixture, Tool};
use crate::http::Connection;
use crate::report::{Row, grouped};

/// What each channel holds, in sats: a hundred of them are less than the provider has.
const CAPACITY: u64 = 100_000;

/// How long the service may put itself in order before its memory is read.
const SETTLE: Duration = Duration::from_secs(3);

/// How long the node may take until it can use all its channels.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often that is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Measures, for each number of channels, a restart and the memory after it.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &count in &tool.options.channels {
        Tool::say(&format!("{count} channels"));
        rows.extend(with(tool, count).await?);
    }
    Ok(rows)
}

async fn with(tool: &Tool, count: usize) -> Result<[Row; 3]> {
    let network = ChannelNetwork::start().await?;
    let variables = network.variables()?;
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut fixture = tool.fixture_with(Duration::ZERO, &variables).await?;
    network.open_channels(count, CAPACITY).await?;
    until_usable(&fixture, count).await?;

    fixture.service.stop().await?;
    let begun = Instant::now();
    fixture.service = fixture.home.start()?;
    until_usable(&fixture, count).await?;
    let usable = begun.elapsed();
    tokio::time::sleep(SETTLE).await;
    let resident = fixture.service.resident_bytes()?;

    let under = format!("Lightning node inside, {} channels", grouped(count));
    let row = |what: &str, time: Duration| {
        let ms = time.as_secs_f64() * 1000.0;
        Row { what: what.to_owned(), under: under.clone(), result: format!("{ms:.0} ms"), value: ms, ..Row::default() }
    };
    let mebibytes = resident >> 20;
    Ok([
        row("Start, until /health is answered", fixture.service.started_in),
        row("Start, until all channels can be used", usable),
        Row {
            result: format!("{mebibytes} MiB"),
            value: f64::from(u32::try_from(mebibytes)?),
            ..row("Memory after the start", Duration::ZERO)
        },
    ])
}

/// Waits until the node runs, knows the chain and can use so many channels.
async fn until_usable(fixture: &Fixture, count: usize) -> Result<()> {
    let mut app = Connection::open(fixture.service.address()).await?;
    let begun = Instant::now();
    loop {
        let (runs, usable) = api::node_state(&app.call(&api::wallet_info(fixture.home.token())).await?)?;
        if runs && usable >= count {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "{usable} of {count} channels can be used:\n{}", fixture.home.log_tail());
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
