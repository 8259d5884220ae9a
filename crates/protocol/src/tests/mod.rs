//! Tests of the wallet protocol as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod bounds;
mod calendar;
mod client_vectors;
mod envelope;
mod fuzz_targets;
mod handshake_url;
mod jwt;
mod next_after;
mod secrecy;
mod subkey;
mod wire_samples;
