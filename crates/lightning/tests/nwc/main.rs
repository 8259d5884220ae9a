//! The NIP-47 backend over real sockets: relays that are down, refuse or lie; a wallet service that is away, slow or
//! lies; and unauthenticated peers that send whatever they like.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod backend_under_test;
mod conformance;
mod description_hashes;
mod error_codes;
mod expensive_relay;
mod fixture;
mod fuzz_targets;
mod invalid_responses;
mod malformed_responses;
mod methods;
mod nwc_crate;
mod outages;
mod payments;
mod recovery;
mod relay_authentication;
mod scripted_wallet;
mod secrets;
mod two_relays;
mod unsolicited_events;
