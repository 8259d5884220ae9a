//! Checks of several keys for the embedded Lightning node.

use usher_protocol::bolt11::Network;

use super::keys::{self, Config};
use super::reader::Reader;
use super::setting::{
    HostName, LnBackend, Mnemonic, NodeAddress, Port, Secret, Text, WebUrl, crosses_network_in_clear,
};

/// The section without effect for other backends.
const SECTION: &str = "wallet.embedded.";

/// Records missing and contradicting settings.
pub(super) fn check(reader: &Reader<'_>, note: &mut impl FnMut(&str, String)) {
    if reader.peek("wallet.ln_backend") != Some(LnBackend::Embedded) {
        return;
    }
    let no_host = reader.unset::<HostName>("wallet.embedded.bitcoind.host");
    let host = reader.peek_set::<HostName>("wallet.embedded.bitcoind.host");
    let of_host = |key: Option<&'static str>| key.filter(|_| host.is_some());
    let needed = [
        (reader.unset::<Mnemonic>("wallet.embedded.mnemonic"), ""),
        (reader.unset::<Secret>("wallet.embedded.api_key"), " (`none` if nobody wants one)"),
        (of_host(reader.unset::<Text>("wallet.embedded.bitcoind.rpc_user")), ""),
        (of_host(reader.unset::<Secret>("wallet.embedded.bitcoind.rpc_password")), ""),
    ];
    for (key, hint) in needed {
        if let Some(key) = key {
            note("wallet.ln_backend", format!("needs {key}, which is not set{hint}"));
        }
    }
    if no_host.is_some() && reader.unset::<WebUrl>("wallet.embedded.chain_url").is_some() {
        let what = "needs wallet.embedded.chain_url or wallet.embedded.bitcoind.host, and neither is set";
        note("wallet.ln_backend", what.to_owned());
    }
    let Some(url) = reader.peek_set::<WebUrl>("wallet.embedded.chain_url") else { return };
    if host.is_some() {
        let what = "and wallet.embedded.bitcoind.host are both set; remove one, because the node has one chain source";
        note("wallet.embedded.chain_url", what.to_owned());
    }
    if url.url().query().is_some() || url.url().fragment().is_some() {
        note("wallet.embedded.chain_url", "must have neither a query nor a fragment".to_owned());
    }
}

/// Records what is allowed but unwise, or has no effect.
pub(super) fn warnings(config: &Config, reader: &Reader<'_>, warnings: &mut Vec<String>) {
    if config.wallet.ln_backend != LnBackend::Embedded {
        for key in keys::all().filter(|key| key.name.starts_with(SECTION) && reader.origin(key.name).is_some()) {
            warnings.push(format!("{} is set but unused; wallet.ln_backend is not embedded", key.name));
        }
        return;
    }
    let chain_url = config.embedded.chain_url.as_ref();
    if config.embedded.token().is_some() && chain_url.is_some_and(|url| crosses_network_in_clear(url.url())) {
        warnings.push(
            "wallet.embedded.api_key is sent unencrypted to the server of wallet.embedded.chain_url, and everybody on the way \
             can read it; use https"
                .to_owned(),
        );
    }
    if config.embedded.liquidity_provider.is_none() {
        warnings.push(
            "wallet.embedded.liquidity_provider is not set: payments arrive only over channels that others open to this \
             node; name a provider"
                .to_owned(),
        );
    }
}

impl keys::Bitcoind {
    /// The RPC port: the configured one, else bitcoind's own for `network`.
    pub fn port_on(&self, network: Network) -> u16 {
        let usual = match network {
            Network::Bitcoin => 8332,
            Network::Testnet => 18332,
            Network::Signet => 38332,
            Network::Regtest => 18443,
        };
        self.port.map_or(usual, Port::get)
    }
}

impl keys::Embedded {
    /// The token for the liquidity provider and chain source, if required.
    pub fn token(&self) -> Option<&Secret> {
        use secrecy::ExposeSecret as _;

        self.api_key.as_ref().filter(|key| key.secret().expose_secret() != "none")
    }

    /// The liquidity provider as configured.
    pub fn provider(&self) -> Option<&str> {
        self.liquidity_provider.as_ref().map(NodeAddress::as_str)
    }
}
