//! HTTP/1.1 requests to servers that may be hostile: webhook receivers, the domains of NIP-05 identifiers,
//! Cashu mints.
//!
//! Limits what general HTTP clients leave open:
//!
//! - **Interim responses** (`100`, `103`). Clients skip them until the final response arrives, so a server that sends only
//!   those keeps the client and its thread busy. [`BoundedStream`] counts the bytes before the final response's status line
//!   and breaks the connection at [`MAX_INTERIM_BYTES`].
//! - **Addresses.** The caller resolves every host, IP addresses too, so that a guard sees where each connection leads:
//!   [`GuardedResolver`] where users choose the host.
//! - **Heads** have at most [`MAX_HEAD_BYTES`].
//!
//! Redirects are not followed, proxies of the environment are not used, nothing is decompressed. The caller limits bodies
//! and the time of the whole exchange.

mod bounded_stream;
mod client;
mod connector;
mod guarded_resolver;
mod tls;

pub use bounded_stream::{BoundedStream, MAX_INTERIM_BYTES, TooMuchInterim};
pub use client::{Client, ClientOptions, MAX_HEAD_BYTES, Pool};
pub use connector::{BoxError, ConnectError, Resolve};
pub use guarded_resolver::GuardedResolver;
pub use hyper::Error as BodyError;
pub use hyper::body::Incoming;
pub use hyper_util::client::legacy::Error;
pub use tls::tls_config;
