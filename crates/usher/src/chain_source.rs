//! What the commands ask the chain source of the embedded Lightning node, beside the node itself.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::ExposeSecret as _;
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

/// The network that the chain source serves.
///
/// # Errors
/// If it does not answer, or with something else; the reason, without its address.
pub(crate) async fn network(config: &Config) -> Result<Network, String> {
    match source(config)? {
        Source::Esplora(esplora) => {
            let genesis_hash = esplora.get("block-height/0").await?;
            let known = Network::ALL.into_iter().find(|network| genesis(*network) == genesis_hash.trim());
            known.ok_or_else(|| "it is no Esplora server of a known network".to_owned())
        }
        Source::Bitcoind(bitcoind) => {
            let result = bitcoind.call("getblockchaininfo", &json!([])).await?;
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
pub(crate) async fn funding_fee_rate(config: &Config) -> Result<f64, String> {
    let none = || "it names no fee rate".to_owned();
    let rate = match source(config)? {
        Source::Esplora(esplora) => {
            let estimates: HashMap<u16, f64> =
                serde_json::from_str(&esplora.get("fee-estimates").await?).map_err(|_| none())?;
            let soon_enough = estimates.into_iter().filter(|(blocks, _)| *blocks <= FUNDING_TARGET);
            soon_enough.max_by_key(|(blocks, _)| *blocks).map(|(_, rate)| rate)
        }
        Source::Bitcoind(bitcoind) => {
            let result = bitcoind.call("estimatesmartfee", &json!([FUNDING_TARGET, "ECONOMICAL"])).await?;
            result["feerate"].as_f64().map(|rate| rate * SATS_PER_BYTE)
        }
    };
    // The node pays no less, or its transactions would not be relayed.
    rate.filter(|rate| rate.is_finite() && *rate >= 0.0).map(|rate| rate.max(1.0)).ok_or_else(none)
}

/// The configured chain source.
enum Source<'a> {
    Esplora(Esplora<'a>),
    Bitcoind(Bitcoind<'a>),
}

/// An Esplora server.
struct Esplora<'a> {
    client: Client,
    base: &'a str,
    config: &'a Config,
}

/// The RPC of a bitcoind.
struct Bitcoind<'a> {
    client: Client,
    url: String,
    config: &'a Config,
}

fn source(config: &Config) -> Result<Source<'_>, String> {
    let client = Client::builder().timeout(PATIENCE).build().map_err(|error| error.to_string())?;
    match (&config.embedded.chain_url, &config.bitcoind.host) {
        (Some(url), _) => {
            Ok(Source::Esplora(Esplora { client, base: url.url().as_str().trim_end_matches('/'), config }))
        }
        (None, Some(host)) => {
            let host = match host.as_str() {
                host if host.contains(':') => format!("[{host}]"),
                host => host.to_owned(),
            };
            let url = format!("http://{host}:{}/", config.bitcoind.port_on(config.wallet.network));
            Ok(Source::Bitcoind(Bitcoind { client, url, config }))
        }
        (None, None) => Err("none is configured".to_owned()),
    }
}

impl Esplora<'_> {
    async fn get(&self, path: &str) -> Result<String, String> {
        let mut request = self.client.get(format!("{}/{path}", self.base));
        if let Some(token) = self.config.embedded.token() {
            request = request.bearer_auth(token.secret().expose_secret());
        }
        match reply(request).await? {
            (StatusCode::OK, text) => Ok(text),
            (status, _) => Err(format!("it answers {status}")),
        }
    }
}

impl Bitcoind<'_> {
    /// The result of a call.
    async fn call(&self, method: &str, params: &Value) -> Result<Value, String> {
        let bitcoind = &self.config.bitcoind;
        let user = bitcoind.rpc_user.as_ref().map(|user| user.as_str()).unwrap_or_default();
        let password = bitcoind.rpc_password.as_ref().map(|password| password.secret().expose_secret());
        let body = json!({"jsonrpc": "1.0", "id": "usher", "method": method, "params": params});
        let request = self.client.post(&self.url).basic_auth(user, password).json(&body);
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
