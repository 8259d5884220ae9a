//! What service and commands ask the chain source of the embedded Lightning node, beside the node itself.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use usher_protocol::bolt11::Network;

use crate::config::Config;

/// How long a request may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The longest reply that is read, in bytes.
const MAX_REPLY: usize = 64 * 1024;

/// Within how many blocks the node wants a funding transaction to be confirmed (ldk-node's `ChannelFunding`).
const FUNDING_TARGET: u16 = 12;

/// Bytes of a kilobyte, and sats of a bitcoin: bitcoind names fee rates in bitcoin per kilobyte.
const SATS_PER_BYTE: f64 = 100_000_000.0 / 1_000.0;

/// The configured chain source.
pub(crate) struct ChainSource {
    client: Client,
    kind: Kind,
}

enum Kind {
    Esplora { base: String, token: Option<SecretString> },
    Bitcoind { url: String, user: String, password: SecretString },
}

impl ChainSource {
    /// The chain source that the configuration names.
    ///
    /// # Errors
    /// If it names none.
    pub(crate) fn of(config: &Config) -> Result<Self, String> {
        let client = Client::builder().timeout(PATIENCE).build().map_err(|error| error.to_string())?;
        let secret = |secret: &crate::config::setting::Secret| secret.secret().clone();
        let kind = match (&config.embedded.chain_url, &config.bitcoind.host) {
            (Some(url), _) => Kind::Esplora {
                base: url.url().as_str().trim_end_matches('/').to_owned(),
                token: config.embedded.token().map(secret),
            },
            (None, Some(host)) => {
                let host = match host.as_str() {
                    host if host.contains(':') => format!("[{host}]"),
                    host => host.to_owned(),
                };
                let bitcoind = &config.bitcoind;
                Kind::Bitcoind {
                    url: format!("http://{host}:{}/", bitcoind.port_on(config.wallet.network)),
                    user: bitcoind.rpc_user.as_ref().map(|user| user.as_str().to_owned()).unwrap_or_default(),
                    password: bitcoind.rpc_password.as_ref().map(secret).unwrap_or_default(),
                }
            }
            (None, None) => return Err("none is configured".to_owned()),
        };
        Ok(Self { client, kind })
    }

    /// The network that it serves.
    ///
    /// # Errors
    /// If it does not answer, or with something else; the reason, without its address.
    pub(crate) async fn network(&self) -> Result<Network, String> {
        match &self.kind {
            Kind::Esplora { base, token } => {
                let genesis_hash = self.get(base, token.as_ref(), "block-height/0").await?;
                let known = Network::ALL.into_iter().find(|network| genesis(*network) == genesis_hash.trim());
                known.ok_or_else(|| "it is no Esplora server of a known network".to_owned())
            }
            Kind::Bitcoind { url, user, password } => {
                let result = self.call(url, user, password, "getblockchaininfo", &json!([])).await?;
                let chain = result["chain"].as_str();
                let known = Network::ALL.into_iter().find(|network| Some(chain_name(*network)) == chain);
                known.ok_or_else(|| "it is no bitcoind of a known network".to_owned())
            }
        }
    }

    /// The fee rate of a funding transaction, in sats per virtual byte, as the node reads it from the chain source.
    ///
    /// # Errors
    /// If the chain source does not answer, or names none; the reason, without its address.
    pub(crate) async fn funding_fee_rate(&self) -> Result<f64, String> {
        let none = || "it names no fee rate".to_owned();
        let rate = match &self.kind {
            Kind::Esplora { base, token } => {
                let estimates: HashMap<u16, f64> =
                    serde_json::from_str(&self.get(base, token.as_ref(), "fee-estimates").await?)
                        .map_err(|_| none())?;
                let soon_enough = estimates.into_iter().filter(|(blocks, _)| *blocks <= FUNDING_TARGET);
                soon_enough.max_by_key(|(blocks, _)| *blocks).map(|(_, rate)| rate)
            }
            Kind::Bitcoind { url, user, password } => {
                let params = json!([FUNDING_TARGET, "ECONOMICAL"]);
                let result = self.call(url, user, password, "estimatesmartfee", &params).await?;
                result["feerate"].as_f64().map(|rate| rate * SATS_PER_BYTE)
            }
        };
        // The node pays no less, or its transactions would not be relayed.
        rate.filter(|rate| rate.is_finite() && *rate >= 0.0).map(|rate| rate.max(1.0)).ok_or_else(none)
    }

    /// What an Esplora server has under `path`.
    async fn get(&self, base: &str, token: Option<&SecretString>, path: &str) -> Result<String, String> {
        let mut request = self.client.get(format!("{base}/{path}"));
        if let Some(token) = token {
            request = request.bearer_auth(token.expose_secret());
        }
        match reply(request).await? {
            (StatusCode::OK, text) => Ok(text),
            (status, _) => Err(format!("it answers {status}")),
        }
    }

    /// The result of a call of a bitcoind.
    async fn call(
        &self,
        url: &str,
        user: &str,
        password: &SecretString,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        let body = json!({"jsonrpc": "1.0", "id": "usher", "method": method, "params": params});
        let request = self.client.post(url).basic_auth(user, Some(password.expose_secret())).json(&body);
        match reply(request).await? {
            (StatusCode::OK, text) => {
                let mut reply: Value = serde_json::from_str(&text).map_err(|_| "its reply is not JSON".to_owned())?;
                Ok(reply["result"].take())
            }
            (StatusCode::UNAUTHORIZED, _) => Err("it refuses rpc_user and rpc_password".to_owned()),
            (status, _) => Err(format!("it answers {status}")),
        }
    }
}

#[cfg(feature = "embedded-lightning")]
#[async_trait::async_trait]
impl usher_embedded_lightning::ChainTip for ChainSource {
    async fn tip(&self) -> Result<usher_embedded_lightning::Tip, String> {
        let network = self.network().await?;
        let height = match &self.kind {
            Kind::Esplora { base, token } => {
                self.get(base, token.as_ref(), "blocks/tip/height").await?.trim().parse().ok()
            }
            Kind::Bitcoind { url, user, password } => {
                let result = self.call(url, user, password, "getblockchaininfo", &json!([])).await?;
                result["blocks"].as_u64().and_then(|height| height.try_into().ok())
            }
        };
        let height = height.ok_or_else(|| "it does not say how many blocks it has".to_owned())?;
        Ok(usher_embedded_lightning::Tip { network, height })
    }
}

/// Status and text. Errors leave the address out: it may contain a secret.
async fn reply(request: RequestBuilder) -> Result<(StatusCode, String), String> {
    let said = |error: reqwest::Error| crate::failure::chain(&error.without_url());
    let mut response = request.send().await.map_err(said)?;
    let (status, mut body) = (response.status(), Vec::new());
    while let Some(chunk) = response.chunk().await.map_err(said)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_REPLY {
            return Err("its reply is too long".to_owned());
        }
    }
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

/// The hash of a network's first block.
const fn genesis(network: Network) -> &'static str {
    match network {
        Network::Bitcoin => "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
        Network::Testnet => "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
        Network::Signet => "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
        Network::Regtest => "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
    }
}

/// A network's name in bitcoind's RPC.
const fn chain_name(network: Network) -> &'static str {
    match network {
        Network::Bitcoin => "main",
        Network::Testnet => "test",
        Network::Signet => "signet",
        Network::Regtest => "regtest",
    }
}
