//! HTTP/1.1 requests to servers that may be hostile: webhook receivers, age verifiers, the domains of NIP-05
//! identifiers, Cashu mints. A thin layer over `reqwest`: every connection goes to an address that the
//! [guard](usher_address_guard) allows, one deadline bounds the exchange with all interim responses, [`Client::fetch`] bounds the
//! body. Redirects are not followed, proxies of the environment are not used, nothing is decompressed.

mod client;
mod error;
mod guarded_resolver;
mod tls;

pub use client::{Client, ClientOptions, Pool};
pub use error::Error;
pub use reqwest::Response;
pub use tls::tls_config;
