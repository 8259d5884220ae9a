//! A real Cashu mint ([cdk]'s), for trying Usher and for its tests.
//!
//! This crate starts it on a loopback port and adds what an operator's own mint has: custom units such as `multi`, a
//! static token ([`Clear-auth`, NUT-21]), and quotes that are paid without Lightning ([`QuotePayment`]).
//!
//! The `usher` binary does not link this crate, whose build calls `protoc` (`scripts/protoc`): `usher dev` starts the
//! binary `usher-mint`.
//!
//! [cdk]: https://docs.rs/cdk
//! [`Clear-auth`, NUT-21]: https://github.com/cashubtc/nuts/blob/main/21.md
#![allow(missing_docs, reason = "only tests and `usher dev` use this crate: what a name says is not said again")]

mod auth;
mod invoice;
mod mint;
pub mod nutshell;
mod options;
mod payment;
mod server;
mod storage;

pub use mint::{Mint, MintTotals};
pub use options::{KeysetVersion, MintOptions, QuotePayment, Rotation};
