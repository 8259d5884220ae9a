//! Profiles, NIP-05 identifiers, the own profile, and relays at run time, over real sockets.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod domains;
mod hostile;
mod liar;
mod own_profile;
mod profiles;
mod relays;
mod support;
mod web;
