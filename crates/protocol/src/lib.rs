//! The wallet protocol: what a service and a user's wallet say to each other over Nostr, without any input or output.
//!
//! A message ([`message`]) is JSON text, sealed into a signed, encrypted Nostr event ([`envelope`]).

pub mod envelope;
pub mod kind;
pub mod message;
pub mod subkey;

pub use nostr::{Event, EventId, Keys, PublicKey, SecretKey};
