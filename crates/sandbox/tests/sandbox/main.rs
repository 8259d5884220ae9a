//! The sandbox's parts over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod cli;
mod cli_money;
mod dev;
mod devices;
mod embedded_relay;
mod flood;
mod garbage;
mod liar;
mod lightning;
mod payments;
mod proxy;
mod quirks;
mod raw;
mod relay;
mod service;
mod wallet;
mod wallet_weather;
