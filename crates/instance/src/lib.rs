//! Several instances that share a database: one is active, under a lease in the database.
//!
//! | file | is |
//! | --- | --- |
//! | `lease_store` | the port to the lease in the database |
//! | `acquisition` | asks for the lease until this instance has it |
//! | `active_lease` | keeps the lease, and ends what the process does when it is lost |
//! | `gated_ports` | what reaches others from here only while the lease holds |
//!
//! Time is the engine's [`Clock`](usher_engine::ports::Clock), and what becomes of the process is the port [`Process`]: so the
//! simulation (`crates/simulation`) runs this code as the service does.

mod acquisition;
mod active_lease;
mod gated_ports;
mod lease_store;

pub use acquisition::{ConnectFailure, acquire};
pub use active_lease::{ActiveLease, Held, LeaseGate, OnLoss, Process, Watching};
pub use gated_ports::{GatedLightning, GatedMessenger, GatedWebhook};
pub use lease_store::LeaseStore;
