//! The sandbox's parts over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod breakable_proxy;
mod cli;
mod cli_payments;
mod cli_tickets;
mod dev;
mod devices;
mod dishonest_wallet;
mod embedded_relay;
mod garbage_frames;
mod junk_flood;
mod lightning;
mod payments;
mod quirky_relay;
mod raw_client;
mod relay_quirks;
mod scripted_service;
mod tickets;
mod wallet;
mod wallet_network_faults;
