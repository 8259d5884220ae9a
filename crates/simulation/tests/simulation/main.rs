//! Seeds and outages in which no rule is broken.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test's helpers too

mod outages;
mod seeds;
