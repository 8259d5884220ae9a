//! Lightning backends: adapters to the operator's own Lightning node or wallet service.
//!
//! [`nwc`] speaks Nostr Wallet Connect (NIP-47) to any service that supports it. Each backend implements
//! [`Lightning`](usher_engine::ports::Lightning) and states for each failure whether it is definite.

pub mod nwc;
