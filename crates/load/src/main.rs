//! `usher-load`: measures a running Usher and prints one table (see `docs/performance.md`).

mod api;
mod cli;
mod connected_users;
mod database;
mod database_proxy;
mod fixture;
mod http;
mod latencies;
mod lightning;
mod machine;
mod measure;
mod open_streams;
mod process_usage;
mod receiver;
mod relay;
mod report;
mod service;
mod wallet;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Parser as _, ValueEnum as _};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Cli, Measurement};
use crate::database::{Engine, PostgresqlServer};
use crate::fixture::Tool;
use crate::report::Row;

// One thread: the load must leave the processors to what it measures.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Tool::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<()> {
    raise_file_limit();
    if let Some(count) = cli.relays {
        return relay::run(Duration::from_millis(cli.relay_latency_ms), count).await;
    }
    if let Some(relay) = &cli.lightning {
        return lightning::run(relay).await;
    }
    let mut terminate = signal(SignalKind::terminate())?;
    // Every child process ends with the future that holds it.
    let (machine, rows) = tokio::select! {
        measured = measure(&cli) => measured?,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
        () = tokio::time::sleep(Duration::from_secs(cli.time_limit)) => bail!("--time-limit has passed"),
    };
    #[expect(clippy::print_stdout, reason = "the table is what this program is for")]
    {
        println!("{}", report::markdown(&machine, &rows));
    }
    let lost: usize = rows.iter().map(|row| row.lost).sum();
    ensure!(lost == 0, "{lost} logins or payments were lost");
    Ok(())
}

/// What the machine is, and the figures.
async fn measure(cli: &Cli) -> Result<(String, Vec<Row>)> {
    let beside = std::env::current_exe()?.parent().context("this program is in no folder")?.to_owned();
    let usher = cli.options.usher.clone().unwrap_or_else(|| beside.join("usher"));
    ensure!(
        usher.is_file(),
        "there is no {}: build it with `cargo build --release -p usher -p usher-load`, or name it with --usher",
        usher.display()
    );
    if cfg!(debug_assertions) {
        Tool::say("this is a development build: its figures say little");
    }
    let data = cli.options.data.clone().unwrap_or(beside);
    let machine = machine::describe(&data)?;
    Tool::say(&machine);
    let postgresql = match &cli.options.postgresql {
        Some(url) => Some(Arc::new(PostgresqlServer::connect(url, cli.options.postgresql_latency()).await?)),
        None => None,
    };
    let mut tool = Tool { options: cli.options.clone(), usher, data, engine: Engine::Sqlite, postgresql };
    let rows = measure_on_each_engine(&mut tool, cli.what).await;
    if let Some(server) = &tool.postgresql {
        server.drop_databases().await?;
    }
    Ok((machine, rows?))
}

/// One engine after the other for each measurement, so that what else the machine does meets both.
async fn measure_on_each_engine(tool: &mut Tool, what: Measurement) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for measurement in Measurement::value_variants().iter().copied().filter(|one| what.includes(*one)) {
        for &engine in measurement.engines() {
            if engine != Engine::Sqlite && tool.postgresql.is_none() {
                continue;
            }
            tool.engine = engine;
            let suffix = engine.suffix(tool.options.postgresql_latency());
            let measured = measure_one(tool, measurement).await?;
            rows.extend(measured.into_iter().map(|row| Row { under: row.under + &suffix, ..row }));
        }
    }
    Ok(rows)
}

async fn measure_one(tool: &Tool, what: Measurement) -> Result<Vec<Row>> {
    match what {
        Measurement::All => Ok(Vec::new()),
        Measurement::Logins => measure::logins::measure(tool).await,
        Measurement::Events => measure::event_delivery::measure(tool).await,
        Measurement::Payments => measure::payments::measure(tool).await,
        Measurement::Memory => measure::memory::measure(tool).await,
        Measurement::Startup => measure::startup::measure(tool).await,
        Measurement::Takeover => measure::takeover::measure(tool).await,
    }
}

/// A thousand users are two thousand sockets here and as many there; 1,024 is a common limit, and children inherit it.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, the run says what it runs out of.
    let _ = setrlimit(Resource::Nofile, limit);
}
