//! A Nostr relay in this process.

mod database;
mod embedded_relay;

pub use embedded_relay::{EmbeddedRelay, EventCount};
