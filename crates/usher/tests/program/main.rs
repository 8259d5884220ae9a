//! The program as an operator runs it: command line, configuration, signals, upgrades.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod backup;
mod cli;
#[path = "../common/mod.rs"]
mod common;
mod init;
mod linked_crates;
mod local_instance;
mod monitoring;
mod reload;
mod serve;
mod upgrade;
