//! How many of their repetitions the tests make that repeat one thing many times: kills of a process, seeds, outages.
//!
//! A run makes a tenth of them and at least two, each day others; ten days make all. `USHER_SOAK=1` (`scripts/nightly`) makes
//! all of them at once. Each test prints the number of its day: with it in `USHER_SOAK_DAY`, another day repeats it.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that has all repetitions made.
const ALL: &str = "USHER_SOAK";

/// The variable with the number of the day.
const DAY: &str = "USHER_SOAK_DAY";

/// What the repetitions of `all` are divided by, if not all of them are made.
fn divisor(all: usize) -> usize {
    if env::var(ALL).is_ok_and(|value| value == "1") { 1 } else { (all / 2).clamp(1, 10) }
}

/// The number of the day: days since 1970, or what `USHER_SOAK_DAY` says. Random choices are made with it as their seed.
pub fn day() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "which day it is, nothing else")]
    let now = SystemTime::now();
    let today = || now.duration_since(UNIX_EPOCH).expect("the clock is after 1970").as_secs() / (24 * 60 * 60);
    let day = env::var(DAY).map_or_else(|_| today(), |day| day.parse().expect("USHER_SOAK_DAY is a number"));
    println!("{DAY}={day}");
    day
}

/// How many of `all` repetitions are made, where none differs from another.
pub fn repetitions(all: usize) -> usize {
    all / divisor(all)
}

/// Which of `0..all` are done today.
pub fn chosen(all: usize) -> Vec<usize> {
    let (divisor, day) = (divisor(all), day());
    (0..all).filter(|number| is_of(*number, divisor, day)).collect()
}

/// Whether this number is done on this day. Neighbours are done on different days, and so are numbers that are a multiple
/// of the divisor apart: those often are of one kind.
fn is_of(number: usize, divisor: usize, day: u64) -> bool {
    let part = (number + number / divisor) % divisor;
    part as u64 == day % divisor as u64
}
