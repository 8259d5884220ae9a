//! Two hundred seeds or a tenth of them, each in a process of its own.

use usher_simulation::runner::{Kind, run_one};
use usher_testing::soak;

use crate::{program, without_violations};

#[test]
fn no_seed_violates_an_invariant() {
    without_violations(200, &Kind::default(), "");
}

#[test]
fn same_seed_gives_the_same_history() {
    // Of every theme, and one on the real store.
    let run_one = |seed| run_one(&program(), &Kind::default(), seed).unwrap();
    let seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13];
    for seed in soak::chosen(seeds.len()).into_iter().map(|number| seeds[number]) {
        let (one, other) = (run_one(seed), run_one(seed));
        assert!(one.hash.is_some(), "seed {seed}: {:?}", one.failure);
        assert_eq!(one.hash, other.hash, "seed {seed}");
    }
    assert_ne!(run_one(1).hash, run_one(11).hash);
}
