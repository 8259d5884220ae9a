//! The ticket wallet keeps every unit, whatever happens between it, its mint and its disk.

use std::env;

use usher_simulation::tickets;
use usher_testing::soak;

const SEEDS: usize = 20;

#[test]
fn no_unit_is_lost_and_none_is_there_twice() {
    let only = env::var("USHER_SIMULATION_TICKET_SEED").ok().map(|seed| seed.parse().unwrap());
    let seeds = only.map_or_else(|| soak::chosen(SEEDS), |seed| vec![seed]);
    let (mut kills, mut done) = (0, 0);
    for seed in seeds {
        let report = tickets::run(seed as u64).unwrap();
        kills += report.kills;
        done += report.done;
        let told = only.is_some() || !report.violations.is_empty();
        if told {
            println!("{}", report.history.join("\n"));
        }
        assert!(report.violations.is_empty(), "seed {seed}: {:#?}", report.violations);
    }
    println!("{kills} kills, {done} requests done");
    assert!(only.is_some() || (kills > 0 && done > 100), "the world is too quiet: {kills} kills, {done} requests");
}
