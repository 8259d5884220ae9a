//! Several instances on one database: seeds in which no rule is broken, and defects that are put in on purpose and found.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test's helpers too

use std::fmt::Write as _;
use std::path::PathBuf;

use usher_simulation::runner::{Kind, run_many, run_one};
use usher_test_tools::soak;

const SEEDS: usize = 100;

/// Within how many seeds a defect is found.
const FOUND_WITHIN: u64 = 40;

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_usher-simulation"))
}

fn kind(mutation: Option<&str>) -> Kind {
    Kind { instances: true, mutation: mutation.map(str::to_owned) }
}

#[test]
fn no_seed_with_several_instances_violates_an_invariant() {
    let seeds = soak::chosen(SEEDS);
    let (mut broken, mut starts) = (String::new(), 0);
    run_many(&program(), &kind(None), seeds.iter().map(|seed| *seed as u64), 2, |outcome| {
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
    assert!(broken.is_empty(), "replay with `cargo run -p usher-simulation -- --instances --seed N`\n{broken}");
    // The first start and the last, and what was taken over in between.
    assert!(starts > 4 * seeds.len() as u64, "the world is too quiet: {starts} starts in {} seeds", seeds.len());
}

#[test]
fn same_seed_with_several_instances_gives_the_same_history() {
    let run = || run_one(&program(), &kind(None), 2).unwrap();
    let (one, other) = (run(), run());
    assert!(one.hash.is_some(), "{:?}", one.failure);
    assert_eq!(one.hash, other.hash);
}

/// Runs seeds with a defect, from this one on, until one of these rules is broken.
fn found(mutation: &str, from: u64, wanted: &[&str]) -> bool {
    let mut found = false;
    run_many(&program(), &kind(Some(mutation)), from..from + FOUND_WITHIN, 2, |outcome| {
        assert!(outcome.failure.is_none(), "seed {}: {:?}", outcome.seed, outcome.failure);
        found |= outcome.violations.iter().any(|(rule, _)| wanted.contains(&rule.as_str()));
        !found
    })
    .unwrap();
    found
}

#[test]
fn missing_epoch_check_is_found() {
    assert!(found("no-epoch-check", 2, &["no-write-after-the-lease"]));
}

#[test]
fn lease_by_the_wall_clock_is_found() {
    assert!(found("lease-by-wall-clock", 2, &["one-is-active", "nothing-after-the-lease"]));
}

#[test]
fn work_after_the_lease_is_found() {
    assert!(found("no-gates", 13, &["nothing-after-the-lease"]));
}
