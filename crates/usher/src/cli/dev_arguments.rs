//! The arguments of `usher dev`.

use std::net::Ipv4Addr;

use clap::{Args, Subcommand};

/// Runs everything embedded, to try and to develop against: the service, a relay, a user's wallet.
///
/// Key and token are generated and shown. Everything is kept in a temporary folder, which is removed at the end, unless
/// --data-dir names one. Reads neither SERVICE_DATA_DIR nor SERVICE__ variables.
#[derive(Debug, Args)]
pub struct DevCommand {
    /// The service's port [default: info.listen_port of the folder's config.toml, else 3000, or a free one].
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// The relay's port [default: 7777, or a free one].
    #[arg(long, value_name = "PORT")]
    pub relay_port: Option<u16>,
    /// Lets a phone in the same network scan: pages and relay are at this machine's address in that network, or at ADDRESS.
    ///
    /// Everybody in the network can then use the relay, and open a page whose address they know. The API, which needs the
    /// token, its documentation and the mint stay on this machine.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
    pub lan: Option<Option<Ipv4Addr>>,
    /// In a container: API, pages and relay listen at all of its addresses, at their own ports only.
    ///
    /// Publish these at 127.0.0.1 of the machine (`-p 127.0.0.1:3000:3000`): the start page shows the token to whoever reaches it.
    #[arg(long, conflicts_with = "lan")]
    pub container: bool,
    /// Opens the start page in the browser.
    #[arg(long, conflicts_with = "container")]
    pub open: bool,
    /// The wallet says yes to everything by itself.
    #[arg(long)]
    pub auto_approve: bool,
    /// With the Lightning node inside Usher, on a Lightning network with a chain of its own (regtest).
    ///
    /// A liquidity provider opens a channel for the first payment. The chain is new at each start, so nothing is kept.
    #[arg(long)]
    pub embedded: bool,
    /// Something else than starting it.
    #[command(subcommand)]
    pub action: Option<DevAction>,
}

/// `usher dev …`
#[derive(Clone, Copy, Debug, Subcommand)]
#[command(defer = true)]
pub enum DevAction {
    /// Prints variables and functions for a shell that uses the instance which runs on the folder `--data-dir`:
    /// `eval "$(usher --data-dir <folder> dev env)"`.
    Env,
}
