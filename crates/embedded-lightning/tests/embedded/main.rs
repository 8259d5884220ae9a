//! The embedded node in a whole Lightning network: chain, liquidity provider, a customer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod chain_sources;
mod child_process;
mod conformance;
mod fixture;
mod invoices;
mod kills;
mod management;
mod odd_payers;
mod opening_kills;
mod outages;
mod provider_faults;
mod receiving_kills;
mod restored_copies;
mod sends;
