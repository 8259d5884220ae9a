//! What the embedded Lightning node needs of others: its chain source and its liquidity provider. Asked from here, whether
//! the service runs or not; the node's own data are left alone.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use usher_protocol::bolt11::Network;

use super::finding::Finding;
use crate::config::Config;

const CHECK: &str = "lightning";

/// How long each of them may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest reply of a chain source that is read, in bytes.
const MAX_REPLY: usize = 64 * 1024;

/// Asks chain source and liquidity provider.
pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) {
    findings.push(match chain_network(config).await {
        Ok(network) if network == config.wallet.network => {
            Finding::ok(CHECK, format!("the chain source answers, on {}", network.as_str()))
        }
        Ok(network) => Finding::fail(
            CHECK,
            format!(
                "the chain source is on {}, and wallet.network is {}",
                network.as_str(),
                config.wallet.network.as_str()
            ),
            "correct wallet.network, or use another chain source",
        ),
        Err(problem) => Finding::fail(
            CHECK,
            format!("the chain source does not work: {problem}"),
            "without it no invoice is made and no payment is sent; check wallet.embedded.chain_url or \
             wallet.embedded.bitcoind.*. Logins go on without it",
        ),
    });
    let Some(provider) = &config.embedded.liquidity_provider else { return };
    let address = provider.host_and_port();
    findings.push(match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_connection)) => Finding::ok(CHECK, format!("the liquidity provider accepts connections at {address}")),
        Ok(Err(error)) => no_provider(address, &error.to_string()),
        Err(_elapsed) => no_provider(address, &format!("no connection within {} s", PATIENCE.as_secs())),
    });
}

/// What a running node warns of.
pub(super) fn judge(warnings: &[(String, String)]) -> Vec<Finding> {
    if warnings.iter().any(|(code, _)| code == "not_running") {
        let advice = "the node starts as soon as its chain source answers; see the log of the service";
        return vec![Finding::fail(CHECK, "the embedded node does not run", advice)];
    }
    let warned = |(_, text): &(String, String)| Finding::warn(CHECK, text.clone(), "docs/lightning.md, Warnings");
    let mut findings = vec![Finding::ok(CHECK, "the embedded node runs")];
    findings.extend(warnings.iter().map(warned));
    findings
}

fn no_provider(address: &str, problem: &str) -> Finding {
    Finding::fail(
        CHECK,
        format!("the liquidity provider cannot be reached at {address}: {problem}"),
        "channels with it cannot be used, and no new one is opened for an incoming payment; check \
         wallet.embedded.liquidity_provider",
    )
}

/// The network that the chain source serves.
async fn chain_network(config: &Config) -> Result<Network, String> {
    let client = Client::builder().timeout(PATIENCE).build().map_err(|error| error.to_string())?;
    let bitcoind = &config.bitcoind;
    match (&config.embedded.chain_url, &bitcoind.host) {
        (Some(url), _) => {
            let base = url.url().as_str().trim_end_matches('/');
            let mut request = client.get(format!("{base}/block-height/0"));
            if let Some(token) = config.embedded.token() {
                request = request.bearer_auth(token.secret().expose_secret());
            }
            let (status, text) = reply(request).await?;
            if status != StatusCode::OK {
                return Err(format!("it answers {status}"));
            }
            let known = Network::ALL.into_iter().find(|network| genesis(*network) == text.trim());
            known.ok_or_else(|| "it is no Esplora server of a known network".to_owned())
        }
        (None, Some(host)) => {
            let host = match host.as_str() {
                host if host.contains(':') => format!("[{host}]"),
                host => host.to_owned(),
            };
            let url = format!("http://{host}:{}/", bitcoind.port_on(config.wallet.network));
            let user = bitcoind.rpc_user.as_ref().map(|user| user.as_str()).unwrap_or_default();
            let password = bitcoind.rpc_password.as_ref().map(|password| password.secret().expose_secret());
            let body = json!({"jsonrpc": "1.0", "id": "doctor", "method": "getblockchaininfo", "params": []});
            let (status, text) = reply(client.post(url).basic_auth(user, password).json(&body)).await?;
            match status {
                StatusCode::OK => {}
                StatusCode::UNAUTHORIZED => return Err("it refuses rpc_user and rpc_password".to_owned()),
                status => return Err(format!("it answers {status}")),
            }
            let reply: Value = serde_json::from_str(&text).map_err(|_| "its reply is not JSON".to_owned())?;
            let chain = reply["result"]["chain"].as_str();
            let known = Network::ALL.into_iter().find(|network| Some(chain_name(*network)) == chain);
            known.ok_or_else(|| "it is no bitcoind of a known network".to_owned())
        }
        (None, None) => Err("none is configured".to_owned()),
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
