//! The ticket wallet against a real mint, on a real store.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod basics;
mod crashes_of_hostile_mints;
mod development_builds;
mod fail_points;
mod faulty_mints;
mod fixture;
mod fuzz_targets;
mod given_up;
mod hostile_mints;
mod mint_tokens;
mod pending;
mod quotes;
mod restoring;
mod set_aside;
