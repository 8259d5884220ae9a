//! Profiles, NIP-05 identifiers, the service's own profile, and relays at run time, over real sockets.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
mod common;
mod fixture;
mod hostile_profiles;
mod nip05;
mod profile_lookup;
mod runtime_relays;
mod scripted_relay;
mod scripted_web_server;
mod service_profile;
