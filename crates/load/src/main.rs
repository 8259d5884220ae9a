//! `usher-load`: measures a running Usher and prints one table (see `docs/performance.md`).

mod api;
mod cli;
mod closed_loop;
mod connected_users;
mod first_events;
mod fixture;
mod http;
mod latencies;
mod lightning;
mod machine;
mod measure;
mod mint;
mod open_streams;
mod process_usage;
mod receiver;
mod relay;
mod report;
mod service;
mod wallet;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser as _;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Cli, Measurement};
use crate::fixture::Tool;
use crate::machine::Machine;
use crate::report::Report;

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
    if cli.relay {
        return relay::run(Duration::from_millis(cli.relay_latency_ms)).await;
    }
    if let Some(relay) = &cli.lightning {
        return lightning::run(relay).await;
    }
    let mut terminate = signal(SignalKind::terminate())?;
    // Every child process ends with the future that holds it.
    let report = tokio::select! {
        report = measure(&cli) => report?,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
        () = tokio::time::sleep(Duration::from_secs(cli.time_limit)) => bail!("--time-limit has passed"),
    };
    #[expect(clippy::print_stdout, reason = "the table is what this program is for")]
    if cli.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}", report.markdown());
    }
    let lost: usize = report.rows.iter().map(|row| row.lost).sum();
    ensure!(lost == 0, "{lost} logins or payments were lost");
    Ok(())
}

async fn measure(cli: &Cli) -> Result<Report> {
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
    let mint = cli.options.mint.clone().unwrap_or_else(|| beside.join("usher-mint"));
    let data = cli.options.data.clone().unwrap_or(beside);
    let machine = Machine::look(&data)?;
    Tool::say(&machine.line());
    let tool = Tool { options: cli.options.clone(), usher, mint, data };
    let mut rows = Vec::new();
    if cli.what.includes(Measurement::Logins) {
        rows.extend(measure::logins::measure(&tool).await?);
    }
    if cli.what.includes(Measurement::Starts) || cli.what.includes(Measurement::Polls) {
        rows.extend(measure::call_rate::measure(&tool, cli.what).await?);
    }
    if cli.what.includes(Measurement::Events) {
        rows.extend(measure::events::measure(&tool).await?);
    }
    if cli.what.includes(Measurement::Payments) {
        rows.extend(measure::payments::measure(&tool).await?);
    }
    if cli.what.includes(Measurement::Tickets) {
        rows.extend(measure::tickets::measure(&tool).await?);
    }
    if cli.what.includes(Measurement::Memory) {
        rows.extend(measure::memory::measure(&tool).await?);
    }
    if cli.what.includes(Measurement::Startup) {
        rows.extend(measure::startup::measure(&tool).await?);
    }
    Ok(Report { machine, rows })
}

/// A thousand users are two thousand sockets here and as many there; 1,024 is a common limit, and children inherit it.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, the run says what it runs out of.
    let _ = setrlimit(Resource::Nofile, limit);
}
