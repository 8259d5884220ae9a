//! Lightning backends: the service's own wallet.
//!
//! [`nwc`] speaks Nostr Wallet Connect (NIP-47) to any wallet that has it. Each backend implements
//! [`Lightning`](usher_engine::ports::Lightning), and says of each failure whether it is definite.

pub mod nwc;
