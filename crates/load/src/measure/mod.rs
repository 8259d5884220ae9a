//! What is measured.

pub(crate) mod calls;
pub(crate) mod events;
pub(crate) mod logins;
pub(crate) mod memory;
pub(crate) mod payments;
pub(crate) mod startup;
pub(crate) mod takeover;
pub(crate) mod tickets;
