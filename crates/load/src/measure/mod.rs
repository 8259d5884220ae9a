//! What is measured.

pub(crate) mod calls;
pub(crate) mod channels;
pub(crate) mod events;
pub(crate) mod logins;
pub(crate) mod memory;
pub(crate) mod openid;
pub(crate) mod pages;
pub(crate) mod payments;
pub(crate) mod startup;
pub(crate) mod tickets;
