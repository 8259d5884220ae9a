//! Nostr relays in process.

mod connection;
mod counts;
mod delivery;
mod embedded;
mod garbage;
mod hub;
mod junk;
mod memory;
mod quirks;
mod quirky;
mod session;
mod socket;
mod stored;
mod subscriptions;

pub use counts::Counts;
pub use embedded::EmbeddedRelay;
pub use junk::{Junk, JunkEvents};
pub use quirks::{Flood, LieOk, Quirks};
pub use quirky::QuirkyRelay;
