//! The subcommands.

pub mod audit;
pub mod backup;
pub mod completions_and_man;
pub mod config;
pub mod console;
pub mod dev_program;
pub mod environment;
pub mod health;
pub mod init;
pub mod key;
pub mod keys;
pub mod lightning;
pub mod listen;
pub mod notices;
pub mod oidc;
pub mod payments;
mod reload;
pub mod restore;
mod secret_input;
pub mod serve;
mod service_client;
pub mod store;
pub mod tickets;
pub mod users;
