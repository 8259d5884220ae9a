//! Age verification: sessions whose proof is a ticket.

pub(crate) mod operation;
pub(crate) mod sessions;
pub(crate) mod start;
pub(crate) mod token_request;
