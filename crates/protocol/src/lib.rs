//! The wallet protocol: the messages between a service and a user's wallet over Nostr, without any I/O.
//!
//! A [handshake URL](handshake_url) connects the two. A [message] is JSON text, sealed into a signed, encrypted Nostr
//! event ([`envelope`]). A user's devices may use [subkeys](subkey) of the user's key.
//!
//! Time is passed in. All untrusted input is bounded when it is parsed.

pub mod bolt11;
pub mod calendar;
mod debug;
pub mod envelope;
pub mod handshake_url;
pub mod jwt;
pub mod keys;
pub mod kind;
pub mod lnurl;
pub mod login_proof;
pub mod message;
pub mod mint_url;
pub mod nwc;
pub mod payee;
pub mod relay_url;
mod serde_helpers;
pub mod subkey;
pub mod text;
pub mod ticket_unit;
mod words;

#[cfg(test)]
extern crate self as usher_protocol;
#[cfg(test)]
mod tests;

pub use nostr::{Event, EventId, Keys, PublicKey, SecretKey};
