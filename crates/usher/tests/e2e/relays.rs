//! Relays that misbehave: beside a good one they cost nothing, and where a relay can be worked with, it is.

mod alone;
mod beside;
mod quiet;
