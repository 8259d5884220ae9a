//! Everything that `usher dev` has started, as its texts name it.

use std::net::SocketAddr;
use std::path::Path;

use secrecy::SecretString;
use usher_engine::{KeyHandshakeStarted, LoginStarted};
use usher_protocol::PublicKey;

use super::folder::Folder;
use super::mint::DevMint;

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
    /// A login with a page, to try it with a browser.
    pub(super) login: &'a LoginStarted,
    /// The main key of the embedded wallet's user.
    pub(super) user: PublicKey,
    /// The file of the embedded wallet.
    pub(super) wallet_file: &'a Path,
    /// The mint, if there is one.
    pub(super) mint: Option<&'a DevMint>,
    /// Where everything is stored.
    pub(super) folder: &'a Folder,
    /// Whether the wallet approves every request automatically.
    pub(super) auto_approve: bool,
    /// Whether the service runs a Lightning node of its own.
    pub(super) embedded: bool,
}

impl Setup<'_> {
    /// The service's base URL.
    pub(super) fn base(&self) -> String {
        format!("http://{}", self.service)
    }
}
