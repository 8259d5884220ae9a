//! The adapter with an independent signer over real and faulty relays, and with signers that lie.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod bunker;
mod faulty_relays;
mod fixture;
mod hostile;
mod invitation;
mod relay_limits;
mod scripted_signer;
