//! The ticket wallet keeps every unit, whatever happens between it, its mint and its disk.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::env;

use usher_simulation::tickets;

/// Seeds of the default run; `USHER_SIMULATION_SEEDS` sets another number.
const SEEDS: u64 = 20;

fn from_environment(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn no_unit_is_lost_and_none_is_there_twice() {
    let only = from_environment("USHER_SIMULATION_TICKET_SEED");
    let seeds = only.map_or(0..from_environment("USHER_SIMULATION_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    let (mut kills, mut done) = (0, 0);
    for seed in seeds {
        let report = tickets::run(seed).unwrap();
        kills += report.kills;
        done += report.done;
        let told = only.is_some() || !report.violations.is_empty();
        if told {
            println!("{}", report.history.join("\n"));
        }
        assert!(report.violations.is_empty(), "seed {seed}: {:#?}", report.violations);
    }
    println!("{kills} kills, {done} requests done");
    assert!(only.is_some() || (kills > 5 && done > 150), "the world is too quiet: {kills} kills, {done} requests");
}
