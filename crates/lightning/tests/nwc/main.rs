//! The wallet by Nostr Wallet Connect over real sockets: relays that are away, that refuse or lie, a wallet service that is away, slow
//! or lies, and strangers who send what they like.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod away;
mod client;
mod comeback;
mod garbage;
mod junk;
mod lies;
mod methods;
mod nonsense;
mod paying;
mod puppet;
mod refusals;
mod relays;
mod secrets;
mod stage;
mod wary;
