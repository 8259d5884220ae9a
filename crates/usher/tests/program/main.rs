//! The program as an operator runs it: command line, configuration, signals, upgrades; and its documentation.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests end with a panic, read the machine's clock, and spawn"
)]

mod backup;
mod cli;
#[path = "../common/mod.rs"]
mod common;
mod dev;
mod docs;
mod init;
mod linked_crates;
mod local_instance;
mod monitoring;
mod reload;
mod schemathesis;
mod serve;
mod test_routes;
mod upgrade;
