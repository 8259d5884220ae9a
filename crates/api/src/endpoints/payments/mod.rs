//! Payments that users are asked for.

pub(crate) mod close;
pub(crate) mod recurring;
pub(crate) mod single;
