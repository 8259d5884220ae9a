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
    // Whether a key is set; an invalid value is reported where it is read.
    let secret = |key| reader.peek::<Option<Secret>>(key).map(|value| value.is_some());
    let url = reader.peek::<Option<WebUrl>>("wallet.embedded.chain_url").map(|url| url.is_some());
    let host = reader.peek::<Option<HostName>>("wallet.embedded.bitcoind.host").map(|host| host.is_some());
    let mnemonic = reader.peek::<Option<Mnemonic>>("wallet.embedded.mnemonic").map(|value| value.is_some());
    let mut needed = vec![
        ("wallet.embedded.mnemonic", mnemonic, ""),
        ("wallet.embedded.api_key", secret("wallet.embedded.api_key"), " (`none` if nobody wants one)"),
    ];
    if host == Some(true) {
        let user = reader.peek::<Option<Text>>("wallet.embedded.bitcoind.rpc_user").map(|user| user.is_some());
        needed.push(("wallet.embedded.bitcoind.rpc_user", user, ""));
        let password = secret("wallet.embedded.bitcoind.rpc_password");
        needed.push(("wallet.embedded.bitcoind.rpc_password", password, ""));
    }
    for (key, is_set, hint) in needed {
        if is_set == Some(false) {
            note("wallet.ln_backend", format!("needs {key}, which is not set{hint}"));
        }
    }
    match (url, host) {
        (Some(false), Some(false)) => note(
            "wallet.ln_backend",
            "needs wallet.embedded.chain_url or wallet.embedded.bitcoind.host, and neither is set".to_owned(),
        ),
        (Some(true), Some(true)) => note(
            "wallet.embedded.chain_url",
            "and wallet.embedded.bitcoind.host are both set; remove one, because the node has one chain source"
                .to_owned(),
        ),
        _ => {}
    }
    let url = reader.peek::<Option<WebUrl>>("wallet.embedded.chain_url").flatten();
    if url.is_some_and(|url| url.url().query().is_some() || url.url().fragment().is_some()) {
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
