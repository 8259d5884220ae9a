//! HTTP/1.1 requests to servers that may be hostile: webhook receivers, and the domains of NIP-05 identifiers.
//!
//! What a general HTTP client leaves open is bounded here:
//!
//! - **Interim responses** (`100`, `103`). A client skips them until the final response comes; a server that sends nothing
//!   else keeps it busy, and with it the thread it runs on. [`Stream`] counts what comes before the final response's status
//!   line, and breaks the connection at [`MAX_INTERIM_BYTES`].
//! - **Addresses.** The caller resolves every host, literal addresses too, so that a guard sees where each connection leads.
//! - **Heads.** At most [`MAX_HEAD_BYTES`] are gathered.
//!
//! Redirects are not followed, no proxy of the environment is used, nothing is decompressed. Bodies are the caller's to
//! bound, and so is the time of the whole exchange.

mod client;
mod connector;
mod stream;
mod tls;

pub use client::{Client, ClientOptions, MAX_HEAD_BYTES, Pool};
pub use connector::{BoxError, ConnectError, Resolve};
pub use hyper::Error as BodyError;
pub use hyper::body::Incoming;
pub use hyper_util::client::legacy::Error;
pub use stream::{MAX_INTERIM_BYTES, Stream, TooMuchInterim};
pub use tls::tls_config;
