//! The running environment of `usher dev`, for its texts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use secrecy::SecretString;
use usher_engine::KeyHandshakeStarted;
use usher_protocol::PublicKey;

use super::data_dir::DataDir;
use super::mint::DevMint;

pub(super) struct Setup<'a> {
    /// Where the service listens.
    pub(super) service: SocketAddr,
    /// The service's token. It is shown, because it was generated for this purpose.
    pub(super) token: &'a SecretString,
    /// The relay's address.
    pub(super) relay: &'a str,
    pub(super) handshake: &'a KeyHandshakeStarted,
    pub(super) start_page: &'a str,
    /// The address by which other devices of the local network reach pages and relay, if enabled.
    pub(super) lan: Option<Ipv4Addr>,
    /// Whether it runs in a container, whose ports may be published for others.
    pub(super) container: bool,
    /// The main key of the embedded wallet's user.
    pub(super) user: PublicKey,
    pub(super) wallet_file: &'a Path,
    pub(super) mint: Option<&'a DevMint>,
    pub(super) folder: &'a DataDir,
    pub(super) auto_approve: bool,
    /// Whether the service runs its own Lightning node.
    pub(super) embedded: bool,
}

impl Setup<'_> {
    /// The service's base URL.
    pub(super) fn base(&self) -> String {
        format!("http://{}", reached_at(self.service))
    }
}

/// The address by which local programs reach a listener: a container's ports are published at 127.0.0.1.
fn reached_at(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() { SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())) } else { address }
}
