//! Two hundred seeds or a tenth of them, each in a process of its own.

use std::fmt::Write as _;
use std::path::PathBuf;

use usher_simulation::runner::{run_many, run_one};
use usher_testing::soak;

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_usher-simulation"))
}

#[test]
fn no_seed_violates_an_invariant() {
    let seeds = soak::chosen(200);
    let (mut broken, mut run) = (String::new(), 0);
    run_many(&program(), seeds.iter().map(|seed| *seed as u64), 2, |outcome| {
        run += 1;
        for (rule, how) in &outcome.violations {
            let _ = writeln!(broken, "seed {}: {rule}: {how}", outcome.seed);
        }
        if let Some(failure) = &outcome.failure {
            let _ = writeln!(broken, "seed {}: {failure}", outcome.seed);
        }
    })
    .unwrap();
    assert_eq!(run, seeds.len());
    assert!(broken.is_empty(), "replay with `cargo run -p usher-simulation -- --seed N`\n{broken}");
}

#[test]
fn same_seed_gives_the_same_history() {
    // Of every theme, and one on the real store.
    let run_one = |seed| run_one(&program(), seed).unwrap();
    let seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13];
    for seed in soak::chosen(seeds.len()).into_iter().map(|number| seeds[number]) {
        let (one, other) = (run_one(seed), run_one(seed));
        assert!(one.hash.is_some(), "seed {seed}: {:?}", one.failure);
        assert_eq!(one.hash, other.hash, "seed {seed}");
    }
    assert_ne!(run_one(1).hash, run_one(11).hash);
}
