//! The embedded node in a whole Lightning network: chain, liquidity provider, a customer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod conformance;
mod fixture;
mod invoices;
mod kills;
mod management;
mod outages;
mod restored_copies;
