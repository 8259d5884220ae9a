//! What is measured.

pub(crate) mod event_delivery;
pub(crate) mod logins;
pub(crate) mod memory;
pub(crate) mod payments;
pub(crate) mod startup;
pub(crate) mod takeover;
