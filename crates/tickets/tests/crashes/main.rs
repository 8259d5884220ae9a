//! The ticket wallet is ended at any point, and loses nothing.
//!
//! Fail points belong to the whole process: each test here holds a [`fail::FailScenario`], so they run one by one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[path = "../wallet/fixture.rs"]
mod fixture;

mod fail_points;
mod hostile_mint;
mod kills;
