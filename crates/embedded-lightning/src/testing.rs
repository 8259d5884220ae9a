//! Fixtures for the tests of this crate.

use std::path::Path;

use usher_lightning_network::Network;

use crate::{ChainSource, LiquidityProvider, Options};

/// A node in `folder` on this network, with its liquidity provider.
pub(crate) fn options(network: &Network, folder: &Path) -> Options {
    let rpc = network.chain.rpc();
    let provider = format!("{}@{}", network.provider.id(), network.provider.address());
    Options {
        folder: folder.to_owned(),
        network: usher_protocol::bolt11::Network::Regtest,
        mnemonic: "abandon ".repeat(11) + "about",
        chain: ChainSource::Bitcoind { host: rpc.host, port: rpc.port, user: rpc.user, password: rpc.password },
        provider: Some(LiquidityProvider::new(&provider, Some(Network::TOKEN.to_owned())).unwrap()),
        max_fee_percent: 5,
        max_opening_fee_percent: 50,
        chain_access: None,
        recover: false,
        settings: None,
    }
}
