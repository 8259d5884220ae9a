//! What the service is given of the world: its clock, its disk, its network, its webhook.

pub mod clock;
pub mod messenger;
pub mod network;
pub mod randomness;
pub mod store;
pub mod webhook;
