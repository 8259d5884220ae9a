//! The ports of the service in the simulation: disk, database, network, webhook.

pub(crate) mod disk;
pub(crate) mod network;
pub(crate) mod shared_database;
