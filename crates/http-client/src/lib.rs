//! HTTP/1.1 requests to servers that may be hostile: webhook receivers, age verifiers, the domains of NIP-05 identifiers,
//! Cashu mints. A thin layer over `reqwest`:
//!
//! - **Addresses.** Every connection goes to an address that the [guard](usher_address_guard) allows. Names are resolved
//!   under it, and there is no second resolution to which a name server could respond differently. IP addresses, which
//!   `reqwest` does not resolve, are checked before the request.
//! - **Time.** One deadline for the whole exchange, which also ends interim responses (`100`, `103`) without end.
//! - **Sizes.** [`Client::fetch`] reads no more of a body than the caller wants; a head has at most 100 headers and about
//!   400 KiB, which are hyper's limits.
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
