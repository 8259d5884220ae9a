//! `cargo run -p usher-simulation -- --help`

use std::process::ExitCode;

use clap::Parser;
use usher_simulation::Script;
use usher_simulation::runner::{self, Outcome};

/// Runs the whole service in a simulated world, one seed after the other.
#[derive(Debug, Parser)]
struct Arguments {
    /// Run this seed and print its history
    #[arg(long)]
    seed: Option<u64>,
    /// Run the outage with this number and print its history
    #[arg(long, conflicts_with = "seed")]
    outage: Option<usize>,
    /// Print only the hash of that seed and the rules it violated
    #[arg(long, requires = "seed")]
    summary: bool,
    /// First of many seeds
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// How many
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// Go on until stopped
    #[arg(long)]
    forever: bool,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// Show the service's own log as well
    #[arg(long)]
    log: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    if arguments.log {
        tracing_subscriber::fmt().without_time().with_writer(std::io::stderr).init();
    }
    let report = match (arguments.seed, arguments.outage) {
        (Some(seed), _) => Some(usher_simulation::run(seed)?),
        (None, Some(number)) => {
            let script = Script::all().get(number).copied().ok_or("there is no such outage")?;
            Some(usher_simulation::run_outage(script)?)
        }
        (None, None) => None,
    };
    if let Some(report) = report {
        if !arguments.summary {
            report.history.iter().for_each(|line| println!("{line}"));
        }
        println!("hash {:016x}", report.hash);
        report.violations.iter().for_each(|broken| println!("broken {}: {}", broken.rule, broken.what));
        return Ok(report.violations.is_empty());
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let last = if arguments.forever { u64::MAX } else { arguments.from.saturating_add(arguments.count) };
    let (mut seeds, mut broken) = (0_u64, 0_u64);
    runner::run_many(&program, arguments.from..last, arguments.at_once, |outcome| {
        seeds += 1;
        broken += u64::from(!outcome.violations.is_empty() || outcome.failure.is_some());
        show(&outcome);
        if seeds.is_multiple_of(100) {
            eprintln!("{seeds} seeds, {broken} of them broke a rule");
        }
    })
    .map_err(|error| error.to_string())?;
    println!("{seeds} seeds, {broken} of them broke a rule");
    Ok(broken == 0)
}

fn show(outcome: &Outcome) {
    for (rule, how) in &outcome.violations {
        println!("seed {}: {rule}: {how}", outcome.seed);
    }
    if let Some(failure) = &outcome.failure {
        println!("seed {}: did not come to its end: {failure}", outcome.seed);
    }
}
