//! The whole program, end to end: the real binary, real relays in process, the reference wallet, real HTTP.
//!
//! One test binary, so that it is linked once. Everything is on loopback; every wait has a deadline.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests end with a panic, read the machine's clock, and spawn"
)]

mod abuse;
mod api_keys;
#[path = "../common/mod.rs"]
mod common;
mod console;
mod doctor;
#[cfg(feature = "embedded-lightning")]
mod embedded_lightning;
mod harness;
mod instances;
mod login;
mod logs;
mod observability;
mod openid_provider;
mod page_states;
mod payments;
mod readers_across_restarts;
mod relays;
mod store_copy;
mod tickets;
mod user_erasure;
mod verification;
mod wallet_commands;
