//! Tickets: minted and redeemed for the app, sent to users, requested from users.

pub(crate) mod delivery;
pub(crate) mod minting_job;
pub(crate) mod outgoing;
pub(crate) mod quote_payment;
pub(crate) mod request;
pub(crate) mod tickets;
