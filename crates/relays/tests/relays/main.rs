//! The transport and the directory over real sockets, beside relays and web servers that misbehave in every way we know of.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod exactly_once;
mod expensive_relays;
mod fixture;
mod hostile_profiles;
mod lifetime;
mod nip05;
mod only_a_bad_relay;
mod profile_lookup;
mod runtime_relays;
mod service_profile;
mod subkeys;
mod tls;
mod user_relays;
mod wallet;
