//! Requests of the service and its commands to the chain source of the embedded Lightning node.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use usher_protocol::bolt11::Network;

use crate::config::Config;

/// Time limit of a request.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Longest response read, in bytes.
const MAX_REPLY: usize = 64 * 1024;

/// Longest text of a refusal that is shown, in characters.
const MAX_REASON: usize = 200;

/// The node's confirmation target for funding transactions, in blocks (ldk-node's `ChannelFunding`).
const FUNDING_TARGET: u16 = 12;

/// The confirmation target for on-chain payments, in blocks (ldk-node's `OnchainPayment`): an hour.
pub(crate) const PAYMENT_TARGET: u16 = 6;

/// Converts bitcoind's fee rates, in bitcoin per kilobyte: sats per bitcoin, and bytes per kilobyte.
const SATS_PER_BYTE: f64 = 100_000_000.0 / 1_000.0;

pub(crate) struct ChainSource {
    client: Client,
    kind: Kind,
}

enum Kind {
    Esplora { base: String, token: Option<SecretString> },
    Bitcoind { url: String, user: String, password: SecretString },
}

impl ChainSource {
    /// The configured chain source.
    pub(crate) fn of(config: &Config) -> Result<Self, String> {
        let client = Client::builder().timeout(TIMEOUT).build().map_err(|error| error.to_string())?;
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

    /// Its network.
    ///
    /// # Errors
    /// The reason, without its address, if it does not respond, or responds with something else.
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
    /// The reason, without its address, if the chain source does not respond, or has no estimate.
    pub(crate) async fn funding_fee_rate(&self) -> Result<f64, String> {
        self.fee_rate_within(FUNDING_TARGET).await
    }

    /// The fee rate that confirms a transaction within `target` blocks, in sats per virtual byte.
    ///
    /// # Errors
    /// The reason, without its address, if the chain source does not respond, or has no estimate.
    pub(crate) async fn fee_rate_within(&self, target: u16) -> Result<f64, String> {
        let none = || "it names no fee rate".to_owned();
        let rate = match &self.kind {
            Kind::Esplora { base, token } => {
                let estimates: HashMap<u16, f64> =
                    serde_json::from_str(&self.get(base, token.as_ref(), "fee-estimates").await?)
                        .map_err(|_| none())?;
                let soon_enough = estimates.into_iter().filter(|(blocks, _)| *blocks <= target);
                soon_enough.max_by_key(|(blocks, _)| *blocks).map(|(_, rate)| rate)
            }
            Kind::Bitcoind { url, user, password } => {
                let params = json!([target, "ECONOMICAL"]);
                let result = self.call(url, user, password, "estimatesmartfee", &params).await?;
                result["feerate"].as_f64().map(|rate| rate * SATS_PER_BYTE)
            }
        };
        // The node's minimum, below which transactions would not be relayed.
        rate.filter(|rate| rate.is_finite() && *rate >= 0.0).map(|rate| rate.max(1.0)).ok_or_else(none)
    }

    /// Requests `path` of an Esplora server.
    async fn get(&self, base: &str, token: Option<&SecretString>, path: &str) -> Result<String, String> {
        esplora_reply(self.client.get(format!("{base}/{path}")), base, token).await
    }

    /// Calls a method of a bitcoind.
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
            (status, text) => {
                let reply: Value = serde_json::from_str(&text).unwrap_or_default();
                let password = password.expose_secret();
                let header = BASE64.encode(format!("{user}:{password}"));
                Err(refusal(status, reply["error"]["message"].as_str(), &[password, &header]))
            }
        }
    }
}

#[cfg(feature = "embedded-lightning")]
#[async_trait::async_trait]
impl usher_embedded_lightning::ChainAccess for ChainSource {
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

    async fn publish(&self, transaction: &[u8]) -> Result<(), String> {
        let transaction = hex::encode(transaction);
        let published = match &self.kind {
            Kind::Esplora { base, token } => {
                let request = self.client.post(format!("{base}/tx")).body(transaction);
                esplora_reply(request, base, token.as_ref()).await.map(drop)
            }
            Kind::Bitcoind { url, user, password } => {
                self.call(url, user, password, "sendrawtransaction", &json!([transaction])).await.map(drop)
            }
        };
        // Both servers use these words for a transaction that is already in a block or in the mempool.
        published.or_else(|problem| if problem.contains("already in ") { Ok(()) } else { Err(problem) })
    }

    async fn fee_rate(&self) -> Result<f64, String> {
        self.fee_rate_within(PAYMENT_TARGET).await
    }
}

async fn esplora_reply(request: RequestBuilder, base: &str, token: Option<&SecretString>) -> Result<String, String> {
    let request = match token {
        Some(token) => request.bearer_auth(token.expose_secret()),
        None => request,
    };
    match reply(request).await? {
        (StatusCode::OK, text) => Ok(text),
        // A rejected transaction; the text has the reason.
        (status @ StatusCode::BAD_REQUEST, text) => {
            // The path may be a secret, too.
            let path = base.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path);
            let secrets: Vec<_> = token.map(SecretString::expose_secret).into_iter().chain(path).collect();
            Err(refusal(status, Some(&text), &secrets))
        }
        (status, _) => Err(refusal(status, None, &[])),
    }
}

/// The reason of a refusal, unless it repeats a secret of the request.
fn refusal(status: StatusCode, reason: Option<&str>, secrets: &[&str]) -> String {
    let reason: String = reason.unwrap_or_default().chars().filter(|char| !char.is_control()).collect();
    if reason.is_empty() || secrets.iter().any(|secret| !secret.is_empty() && reason.contains(secret)) {
        return format!("it answers {status}");
    }
    format!("it answers: {}", reason.chars().take(MAX_REASON).collect::<String>())
}

/// Status and text. Errors omit the address, which may contain a secret.
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

#[cfg(all(test, feature = "embedded-lightning"))]
mod tests {
    use ldk_node::bitcoin::absolute::LockTime;
    use ldk_node::bitcoin::consensus::serialize;
    use ldk_node::bitcoin::transaction::Version;
    use ldk_node::bitcoin::{Address, Amount, Network, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness};
    use usher_embedded_lightning::ChainAccess as _;
    use usher_lightning_network::Chain;

    use super::{ChainSource, Client, Kind, MAX_REASON, StatusCode, TIMEOUT, refusal};

    #[tokio::test]
    async fn transactions_are_published_and_refusals_have_their_reason() {
        let chain = Chain::start().await.unwrap();
        let rpc = chain.rpc();
        let esplora = Kind::Esplora { base: chain.esplora_url(), token: None };
        let bitcoind = Kind::Bitcoind {
            url: format!("http://{}:{}/", rpc.host, rpc.port),
            user: rpc.user,
            password: rpc.password.into(),
        };
        let client = Client::builder().timeout(TIMEOUT).build().unwrap();
        for kind in [esplora, bitcoind] {
            let source = ChainSource { client: client.clone(), kind };
            let transaction = spend(&chain).unwrap();
            source.publish(&transaction).await.unwrap();
            assert_eq!(chain.unconfirmed(), 1);
            source.publish(&transaction).await.unwrap();
            chain.mine(1).unwrap();
            source.publish(&transaction).await.unwrap();

            chain.set_takes_transactions(false);
            let refused = source.publish(&spend(&chain).unwrap()).await.unwrap_err();
            assert!(refused.starts_with("it answers: ") && refused.contains("min fee not met"), "{refused}");
            chain.set_takes_transactions(true);
            assert!(source.publish(b"not a transaction").await.unwrap_err().starts_with("it answers: "));
            chain.set_reachable(false);
            assert_eq!(source.publish(&transaction).await.unwrap_err(), "it answers 503 Service Unavailable");
            chain.set_reachable(true);
        }
    }

    #[test]
    fn reasons_are_short_printable_and_without_secrets() {
        let status = StatusCode::BAD_REQUEST;
        let said = |reason: &str| refusal(status, Some(reason), &["secret", ""]);
        assert_eq!(said("no\n\u{1b}[31m"), "it answers: no[31m");
        assert_eq!(said("\n"), "it answers 400 Bad Request");
        assert_eq!(said("you sent se\ncret"), "it answers 400 Bad Request");
        assert_eq!(said(&"é".repeat(1_000)).chars().count(), "it answers: ".len() + MAX_REASON);
    }

    /// A transaction that is not yet on the chain.
    fn spend(chain: &Chain) -> anyhow::Result<Vec<u8>> {
        let address = Address::p2wsh(&ScriptBuf::new(), Network::Regtest);
        let coin = chain.fund(&address, Amount::from_sat(2_000))?;
        Ok(serialize(&Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: vec![TxIn {
                previous_output: coin,
                script_sig: ScriptBuf::new(),
                sequence: Sequence::MAX,
                witness: Witness::from_slice(&[[1u8]]),
            }],
            output: vec![TxOut { value: Amount::from_sat(1_000), script_pubkey: ScriptBuf::new() }],
        }))
    }
}
