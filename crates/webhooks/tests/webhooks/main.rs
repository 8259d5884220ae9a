//! Posts to receivers over real sockets.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod client_vectors;
mod common;
mod connections;
mod receivers;
mod secrets;
mod signatures;
mod tls;
