//! A Nostr relay that can misbehave.

mod client_session;
mod connection;
mod event_store;
mod garbage_frames;
mod junk_events;
mod metrics;
mod outbox;
mod quirks;
mod quirky_relay;
mod shared_state;
mod socket;
mod subscriptions;

pub use junk_events::{Junk, JunkEvents};
pub use metrics::RelayMetrics;
pub use quirks::{Flood, LieOk, Quirks};
pub use quirky_relay::QuirkyRelay;
