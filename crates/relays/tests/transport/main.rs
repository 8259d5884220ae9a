//! The transport over real sockets, beside relays that misbehave in every way we know of.
#![allow(clippy::disallowed_methods)]

mod abuse;
mod authentication;
mod beside_a_good_relay;
mod lifetime;
mod once;
mod subkeys;
mod support;
mod tls;
mod user_relays;
