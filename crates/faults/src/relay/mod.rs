//! A Nostr relay that can misbehave.

mod connection;
mod counts;
mod delivery;
mod garbage;
mod hub;
mod junk;
mod quirks;
mod quirky;
mod session;
mod socket;
mod stored;
mod subscriptions;

pub use counts::Counts;
pub use junk::{Junk, JunkEvents};
pub use quirks::{Flood, LieOk, Quirks};
pub use quirky::QuirkyRelay;
