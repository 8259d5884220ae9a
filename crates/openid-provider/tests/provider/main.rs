//! The provider over HTTP, on a real store, with logins that the test decides.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test's helpers too

mod attacks;
mod bounds;
mod consent;
mod fixture;
mod login;
mod logout;
mod signing_keys;
mod stored_clients;
mod tokens;
