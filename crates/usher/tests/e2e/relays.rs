//! Relays that misbehave: beside a good one they cost nothing, and where a relay can be worked with, it is.

mod bad_relay_beside_good;
mod only_a_bad_relay;
mod sent_traffic;
