//! The NIP-47 backend over real sockets: relays that are down, refuse or lie; a wallet service that is away, slow or
//! lies; and unauthenticated peers that send whatever they like.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod conformance;
mod description_hashes;
mod fixture;
mod fuzz_targets;
mod invalid_responses;
mod malformed_responses;
mod methods;
mod nwc_crate;
mod outages;
mod payments;
mod recovery;
mod scripted_wallet;
mod secrets;
mod two_relays;
mod unsolicited_events;
