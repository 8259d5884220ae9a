//! Seeds in which no rule is broken: of one instance, of several, of outages and of the ticket wallet.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test's helpers too

mod instances;
mod outages;
mod seeds;
mod tickets;

use std::fmt::Write as _;
use std::path::PathBuf;

use usher_simulation::runner::{Kind, run_many};
use usher_testing::soak;

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_usher-simulation"))
}

/// Runs today's part of this many seeds; returns their number and how often the service was started.
fn without_violations(all: usize, kind: &Kind, replay: &str) -> (u64, u64) {
    let seeds = soak::chosen(all);
    let (mut broken, mut run, mut starts) = (String::new(), 0, 0);
    run_many(&program(), kind, seeds.iter().map(|seed| *seed as u64), 2, |outcome| {
        run += 1;
        starts += outcome.starts;
        for (rule, how) in &outcome.violations {
            let _ = writeln!(broken, "seed {}: {rule}: {how}", outcome.seed);
        }
        if let Some(failure) = &outcome.failure {
            let _ = writeln!(broken, "seed {}: {failure}", outcome.seed);
        }
        true
    })
    .unwrap();
    assert_eq!(run, seeds.len() as u64);
    assert!(broken.is_empty(), "replay with `cargo run -p usher-simulation -- {replay}--seed N`\n{broken}");
    (run, starts)
}
