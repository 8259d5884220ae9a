//! HTTP/1.1 requests to servers that may be hostile: webhook receivers, age verifiers, domains of NIP-05 identifiers, Cashu
//! mints. A thin layer over `reqwest`: connections go only to addresses that the [guard](usher_address_guard) allows, one
//! deadline bounds the exchange including interim responses, and [`Client::fetch`] bounds the body. The client does not follow
//! redirects, use proxies of the environment or decompress bodies.

mod client;
mod error;
mod guarded_resolver;
mod tls;

pub use client::{Client, ClientOptions, Pool};
pub use error::Error;
pub use reqwest::Response;
pub use tls::tls_config;
