//! The world around Usher, in miniature: a user's [`wallet`], relays in process, well behaved ([`relay::EmbeddedRelay`]) and badly
//! ([`relay::QuirkyRelay`]), and a proxy that can be cut ([`proxy::BreakableProxy`]).
//!
//! `usher dev`, `usher wallet` and every end-to-end test use it; nothing in production depends on it. Everything
//! listens on loopback only.

pub mod cli;
pub mod dev;
pub mod lightning;
mod line;
pub mod proxy;
pub mod relay;
pub mod wallet;
