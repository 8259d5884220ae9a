//! The transport over real sockets, beside relays that misbehave in every way we know of.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod abuse;
mod authentication;
mod beside_a_good_relay;
mod hostile;
mod lifetime;
mod once;
mod reconnection;
mod subkeys;
mod support;
mod tls;
mod user_relays;
