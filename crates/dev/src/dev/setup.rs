//! Everything that `usher dev` has started, as its texts name it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use secrecy::SecretString;
use usher_engine::{Engine, KeyHandshakeStarted};
use usher_protocol::PublicKey;

use super::data_dir::DataDir;
use super::mint::DevMint;
use super::sample_pages::Pages;

/// What is running.
pub(super) struct Setup<'a> {
    /// Where the service listens.
    pub(super) service: SocketAddr,
    /// The service's token. It is shown: it was generated for this, and opens nothing else.
    pub(super) token: &'a SecretString,
    /// The relay's address.
    pub(super) relay: &'a str,
    /// A reusable handshake.
    pub(super) handshake: &'a KeyHandshakeStarted,
    /// What runs the operations.
    pub(super) engine: &'a Engine,
    /// Pages to try with a browser.
    pub(super) pages: &'a Pages,
    /// Where other devices of the local network reach pages and relay, if they do.
    pub(super) lan: Option<Ipv4Addr>,
    /// The main key of the embedded wallet's user.
    pub(super) user: PublicKey,
    /// The file of the embedded wallet.
    pub(super) wallet_file: &'a Path,
    /// The mint, if there is one.
    pub(super) mint: Option<&'a DevMint>,
    /// Where everything is stored.
    pub(super) folder: &'a DataDir,
    /// Whether the wallet approves every request automatically.
    pub(super) auto_approve: bool,
    /// Whether the service runs a Lightning node of its own.
    pub(super) embedded: bool,
}

impl Setup<'_> {
    /// The service's base URL.
    pub(super) fn base(&self) -> String {
        format!("http://{}", reached_at(self.service))
    }
}

/// Where programs of the machine reach what listens there: a container's ports are published at 127.0.0.1.
fn reached_at(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() { SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())) } else { address }
}
