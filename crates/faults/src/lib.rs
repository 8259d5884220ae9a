//! Everything around Usher that can misbehave, for tests: relays ([`relay::QuirkyRelay`]), Lightning wallets
//! ([`lightning::FaultyNwcService`]), users' wallets ([`wallet`]), mints ([`mint::FaultyMint`]) and networks
//! ([`proxy::BreakableProxy`]).
//!
//! The `usher` binary does not link this crate; a test of the `usher` crate checks that. What works as it should is in
//! `usher-sandbox`. Everything listens on loopback only.

pub mod lightning;
pub mod mint;
pub mod proxy;
pub mod relay;
pub mod wallet;
