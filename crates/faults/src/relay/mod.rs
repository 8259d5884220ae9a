//! A Nostr relay that can misbehave.

mod broker;
mod client_session;
mod connection;
mod counts;
mod event_store;
mod garbage_frames;
mod junk_events;
mod outbox;
mod quirks;
mod quirky_relay;
mod socket;
mod subscriptions;

pub use counts::Counts;
pub use junk_events::{Junk, JunkEvents};
pub use quirks::{Flood, LieOk, Quirks};
pub use quirky_relay::QuirkyRelay;
