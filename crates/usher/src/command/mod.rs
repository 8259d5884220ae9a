//! What each subcommand does.

pub mod config;
pub mod dev;
pub mod environment;
pub mod key;
pub mod listen;
mod reload;
pub mod serve;
pub mod tickets;
pub mod wallet;
