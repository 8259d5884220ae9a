//! What tests have around the service. No program links this crate; a test of the `usher` crate checks that. What works as it
//! should is in `usher-sandbox`. Everything listens on loopback only.
//!
//! - [`ports`] (feature `ports`): one fake of each port of the engine.
//! - `relay`, `lightning` and `mint` (feature `peers`): relays, Lightning wallets and mints that misbehave; [`proxy`]: a
//!   network that does.
//! - A [server](TcpServer) that does with each connection what a test says, and a [web server](WebServer) with its responses.
//! - [How often](soak) tests repeat what they repeat.
//! - Programs of others that tests drive:
//!
//! | module | is | installed by `scripts/test` |
//! | --- | --- | --- |
//! | `chromium` | a browser | from Debian |
//! | `firefox` | another browser | from Debian by `scripts/nightly` |
//! | `accessibility` | axe-core, run in that browser | from npm, into `target/tools/axe-core` |
//! | `extension` | a browser extension that holds a Nostr key, of npm `nostr-tools` | from npm, into `target/tools/nostr-tools` |
//! | `oidc_provider` | an OpenID Connect provider, npm `oidc-provider` | from npm, into `target/tools/oidc-provider` |
//! | `remote_signer` | a remote signer (NIP-46), npm `@nostr-dev-kit/ndk` | from npm, into `target/tools/remote-signer` |
//! | `postgres_server` | a PostgreSQL server | from Debian |
//! | `relying_party` | apps that log users in, with npm `openid-client` and with PyPI `Authlib` | from npm, into `target/tools/openid-client`; from PyPI, into `target/tools/py` |
//!
//! They panic when a program is missing or fails.
#![allow(missing_docs, reason = "only tests use this crate: what a name says is not said again")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests use this crate, and tests end with a panic"
)]

mod accessibility;
mod authenticator;
mod browser_context;
mod chromium;
mod devtools;
mod extension;
mod firefox;
mod http_request;
#[cfg(feature = "peers")]
pub mod lightning;
#[cfg(feature = "peers")]
pub mod mint;
mod oidc_provider;
#[cfg(feature = "ports")]
pub mod ports;
mod postgres_server;
mod program;
pub mod proxy;
#[cfg(feature = "peers")]
pub mod relay;
mod relying_party;
mod remote_signer;
pub mod soak;
mod tcp_server;
mod waiting;
mod web_server;

use std::path::PathBuf;

pub use authenticator::Authenticator;
pub use chromium::Browser;
pub use firefox::Firefox;
pub use http_request::{Request, read_request};
pub use oidc_provider::OidcProvider;
pub use postgres_server::PostgresServer;
pub use program::{python, run_python};
pub use relying_party::{Library, RelyingParty};
pub use remote_signer::NdkSigner;
pub use tcp_server::{TcpServer, self_signed, trusting};
pub use waiting::until;
pub use web_server::{WebResponse, WebServer};

/// What `scripts/test` has installed under this name.
fn installed(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tools").join(name);
    path.canonicalize().unwrap_or_else(|error| panic!("no {} ({error}): scripts/test installs it", path.display()))
}
