//! Checks the chain source and liquidity provider of the embedded Lightning node, whether or not the service runs; the
//! node's data are not touched.

use tokio::net::TcpStream;

use super::finding::Finding;
use crate::chain_source::{ChainSource, TIMEOUT};
use crate::config::Config;

const CHECK: &str = "lightning";

pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) {
    let asked = async { ChainSource::of(config)?.network().await };
    findings.push(match asked.await {
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
    findings.push(match tokio::time::timeout(TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(_connection)) => Finding::ok(CHECK, format!("the liquidity provider accepts connections at {address}")),
        Ok(Err(error)) => no_provider(address, &error.to_string()),
        Err(_elapsed) => no_provider(address, &format!("no connection within {} s", TIMEOUT.as_secs())),
    });
}

/// Findings for a running node's warnings.
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
