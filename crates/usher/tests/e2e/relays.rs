//! Relays that misbehave.

mod bad_relay_beside_good;
