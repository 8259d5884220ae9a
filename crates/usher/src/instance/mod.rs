//! Several instances that share a PostgreSQL database: one is active, the others forward to it.
//!
//! | file | is |
//! | --- | --- |
//! | `standby` | waits until this instance may be the active one, and forwards meanwhile |
//! | `active_lease` | keeps the lease, and ends the process when it is lost |
//! | `gated_ports` | what reaches others from here only while the lease holds |

mod active_lease;
mod gated_ports;
mod standby;

pub use active_lease::{ActiveLease, LeaseGate, OnLoss};
pub(crate) use gated_ports::{GatedLightning, GatedMessenger, GatedWebhook};
pub use standby::{BecameActive, Forwarding, stand_by};
