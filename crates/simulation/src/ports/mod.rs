//! The ports of the service in the simulation: clock, disk, network, webhook.

pub mod clock;
pub mod disk;
pub mod messenger;
pub mod network;
pub mod shared_database;
pub mod webhook;
