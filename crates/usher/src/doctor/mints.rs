//! Checks the Cashu mints: the one that issues proofs of age, and those with tickets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Client;
use reqwest::redirect::Policy;
use serde::Deserialize;
use url::Url;
use usher_engine::operations::Operation;
use usher_engine::ports::OperationKind;
use usher_protocol::mint_url;
use usher_store::Inspection;

use super::finding::Finding;
use crate::config::Config;

const CHECK: &str = "mints";

/// Time limit of a mint.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Most mints checked; apps can use any number.
const MAX_MINTS: usize = 50;

/// Longest list of keysets read, in bytes.
const MAX_KEYSETS: usize = 1024 * 1024;

/// Most units whose fees are shown.
const MAX_FEES: usize = 10;

#[derive(Default)]
struct Uses {
    /// It issues the proofs of age.
    proofs: bool,
    /// The balances there, as text.
    balances: Vec<String>,
    /// Its tickets that are being sent to users.
    outgoing: usize,
}

/// Queries the public information of each mint (NUT-06).
pub(super) async fn check(config: &Config, database: Option<&dyn Inspection>, findings: &mut Vec<Finding>) {
    let mints = mints(config, database).await;
    if mints.is_empty() {
        findings.push(Finding::ok(CHECK, "none is in use"));
        return;
    }
    let Ok(client) = Client::builder().no_proxy().redirect(Policy::none()).timeout(TIMEOUT).build() else {
        findings.push(Finding::ok(CHECK, "not asked: no HTTP client can be made"));
        return;
    };
    let (left, client) = (mints.len().saturating_sub(MAX_MINTS), &client);
    let asked = mints.into_iter().take(MAX_MINTS).map(|(mint, uses)| async move { ask(client, &mint, &uses).await });
    findings.extend(join_all(asked).await);
    if left > 0 {
        findings.push(Finding::ok(CHECK, format!("{left} more mints hold tickets, and are not asked")));
    }
}

/// The mints in use, by address; the one for proofs of age first.
async fn mints(config: &Config, database: Option<&dyn Inspection>) -> Vec<(String, Uses)> {
    let mut mints: BTreeMap<String, Uses> = BTreeMap::new();
    let of_proofs = config.verification.mint_url.as_ref().map(|mint| mint.url().as_str());
    if let Some(mint) = of_proofs.and_then(mint_url::normalize) {
        mints.entry(mint).or_default().proofs = true;
    }
    let (balances, open) = match database {
        Some(database) => {
            let open = database.open_operations(OperationKind::TicketDelivery).await;
            (database.ticket_balances().await.unwrap_or_default(), open.unwrap_or_default())
        }
        None => Default::default(),
    };
    for balance in balances {
        let text = format!("{} {}", balance.amount, usher_protocol::text::clean(&balance.unit, 32));
        mints.entry(balance.mint_url).or_default().balances.push(text);
    }
    for state in open {
        if let Ok(Operation::TicketDelivery(delivery)) = Operation::from_state(&state)
            && let Some(delivery) = delivery.view()
        {
            mints.entry(delivery.mint_url).or_default().outgoing += 1;
        }
    }
    let mut mints: Vec<_> = mints.into_iter().collect();
    mints.sort_by_key(|(_, uses)| !uses.proofs);
    mints
}

async fn ask(client: &Client, mint: &str, uses: &Uses) -> Finding {
    // The path may be a secret.
    let origin = Url::parse(mint).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let needed_for = uses.text();
    let problem = match client.get(format!("{mint}/v1/info")).send().await {
        Ok(response) if response.status().is_success() => {
            let fees = fees(client, mint).await.unwrap_or_default();
            if fees.is_empty() {
                return Finding::ok(CHECK, format!("{origin} answers ({needed_for})"));
            }
            let text = format!("{origin} answers ({needed_for}); its fee is {} for each proof", fees.join(", "));
            if uses.proofs {
                let advice = "set its input fee to 0: what a proof of age contains is not left when it is redeemed";
                return Finding::warn(CHECK, text, advice);
            }
            return Finding::ok(CHECK, text);
        }
        Ok(response) => format!("{origin} answers {} to GET /v1/info ({needed_for})", response.status()),
        Err(error) if error.is_timeout() => {
            format!("{origin} does not answer within {} s ({needed_for})", TIMEOUT.as_secs())
        }
        Err(_) => format!("{origin} cannot be reached ({needed_for})"),
    };
    if uses.proofs {
        Finding::fail(CHECK, problem, "check verification.mint_url, and whether the mint is up")
    } else {
        let advice =
            "ask its operator: until it is back, its tickets can be neither redeemed nor issued; nothing is lost";
        Finding::warn(CHECK, problem, advice)
    }
}

/// The mint's fee per redeemed proof, by unit, without zero fees (NUT-02); `None` if unknown.
async fn fees(client: &Client, mint: &str) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Keysets {
        keysets: Vec<Keyset>,
    }
    #[derive(Deserialize)]
    struct Keyset {
        unit: String,
        active: bool,
        #[serde(default)]
        input_fee_ppk: u64,
    }
    let mut response = client.get(format!("{mint}/v1/keysets")).send().await.ok()?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_KEYSETS {
            return None;
        }
    }
    let Keysets { keysets } = serde_json::from_slice(&body).ok()?;
    let with_fee = keysets.into_iter().filter(|keyset| keyset.active && keyset.input_fee_ppk > 0);
    let fees: BTreeSet<_> = with_fee.map(|keyset| fee(keyset.input_fee_ppk, &keyset.unit)).take(MAX_FEES).collect();
    Some(fees.into_iter().collect())
}

/// A fee in thousandths as a decimal number.
fn fee(ppk: u64, unit: &str) -> String {
    let number = format!("{}.{:03}", ppk / 1000, ppk % 1000);
    format!("{} {}", number.trim_end_matches('0').trim_end_matches('.'), usher_protocol::text::clean(unit, 32))
}

impl Uses {
    fn text(&self) -> String {
        let mut uses = Vec::new();
        if self.proofs {
            uses.push("verification.mint_url".to_owned());
        }
        if !self.balances.is_empty() {
            uses.push(format!("balance {}", self.balances.join(", ")));
        }
        if self.outgoing > 0 {
            uses.push(format!("{} outgoing tickets", self.outgoing));
        }
        uses.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::fee;

    #[test]
    fn fees_are_decimal_numbers() {
        let texts = [100, 1_000, 1_050, 1, 20_000].map(|ppk| fee(ppk, "sat"));
        assert_eq!(texts, ["0.1 sat", "1 sat", "1.05 sat", "0.001 sat", "20 sat"]);
    }
}
