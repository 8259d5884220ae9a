//! Several instances on one database: seeds in which no rule is broken, and defects that are put in on purpose and found.

use usher_simulation::runner::{Kind, run_many, run_one};

use crate::{program, without_violations};

/// Within how many seeds a defect is found.
const FOUND_WITHIN: u64 = 40;

fn kind(mutation: Option<&str>) -> Kind {
    Kind { instances: true, mutation: mutation.map(str::to_owned) }
}

#[test]
fn no_seed_with_several_instances_violates_an_invariant() {
    let (seeds, starts) = without_violations(100, &kind(None), "--instances ");
    // The first start and the last, and what was taken over in between.
    assert!(starts > 4 * seeds, "the world is too quiet: {starts} starts in {seeds} seeds");
}

#[test]
fn same_seed_with_several_instances_gives_the_same_history() {
    let run = || run_one(&program(), &kind(None), 2).unwrap();
    let (one, other) = (run(), run());
    assert!(one.hash.is_some(), "{:?}", one.failure);
    assert_eq!(one.hash, other.hash);
}

#[test]
fn defects_are_found() {
    for (mutation, from, wanted) in [
        ("no-epoch-check", 2, &["no-write-after-the-lease"][..]),
        ("lease-by-wall-clock", 2, &["one-is-active", "nothing-after-the-lease"]),
        ("no-gates", 13, &["nothing-after-the-lease"]),
    ] {
        let mut found = false;
        run_many(&program(), &kind(Some(mutation)), from..from + FOUND_WITHIN, 2, |outcome| {
            assert!(outcome.failure.is_none(), "seed {}: {:?}", outcome.seed, outcome.failure);
            found |= outcome.violations.iter().any(|(rule, _)| wanted.contains(&rule.as_str()));
            !found
        })
        .unwrap();
        assert!(found, "{mutation}");
    }
}
