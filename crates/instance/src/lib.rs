//! Several instances that share a database: one is active and holds the lease in the database, the others are standbys.
//!
//! Time is the engine's [`Clock`](usher_engine::ports::Clock) and the process is behind the port [`Process`], so tests run in
//! paused time.

mod acquisition;
mod active_lease;
mod gated_ports;
mod lease_store;
#[cfg(test)]
mod tests;

pub use acquisition::{ConnectFailure, acquire};
pub use active_lease::{ActiveLease, Held, LeaseGate, OnLoss, Process, Watching};
pub use gated_ports::{GatedLightning, GatedMessenger, GatedWebhook};
pub use lease_store::LeaseStore;
