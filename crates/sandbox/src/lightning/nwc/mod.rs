//! A Lightning wallet as an app sees it: NIP-47 (Nostr Wallet Connect), well behaved or not.

mod announcing;
mod behaviour;
mod cipher;
mod client;
mod counts;
mod desk;
mod holding;
mod keys;
mod method;
mod notify;
mod service;
mod serving;
mod wire;

pub use behaviour::{Behaviour, Conduct, Encryptions, LookupLie, Memory, PayLie};
pub use client::{NotAConnection, NwcClient, NwcError};
pub use counts::NwcCounts;
pub use keys::NwcKeys;
pub use method::{ErrorCode, Method};
pub use service::NwcService;
