//! The transport over real sockets, beside relays that misbehave in every way we know of.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod exactly_once;
mod expensive_relays;
mod fixture;
mod lifetime;
mod only_a_bad_relay;
mod reconnection;
mod subkeys;
mod tls;
mod unsolicited_events;
mod user_relays;
