//! HTTP/1.1 requests to servers that may be hostile: webhook receivers, age verifiers, the domains of NIP-05
//! identifiers, Cashu mints. A thin layer over `reqwest`:
//!
//! - **Addresses.** Every connection goes to an address that the [guard](usher_address_guard) allows; names are
//!   resolved once, and IP addresses, which `reqwest` does not resolve, are checked before the request.
//! - **Time.** One deadline for the whole exchange, which also ends endless interim responses (`100`, `103`).
//! - **Sizes.** [`Client::fetch`] bounds the body; hyper bounds a head to 100 headers and about 400 KiB.
//!
//! Redirects are not followed, proxies of the environment are not used, nothing is decompressed.

mod client;
mod error;
mod guarded_resolver;
mod tls;

pub use client::{Client, ClientOptions, Pool};
pub use error::Error;
pub use reqwest::Response;
pub use tls::tls_config;
