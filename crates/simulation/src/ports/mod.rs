//! The ports of the service in the simulation: disk, network, webhook.

pub(crate) mod disk;
pub(crate) mod network;
