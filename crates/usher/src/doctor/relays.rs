//! Checks the service's relays: connects to each, and queries the running service's view of them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use usher_protocol::PublicKey;
use usher_relays::{ProbeError, Probed, RelayAddress, probe};

use super::finding::{Finding, State};
use super::service::Service;

const CHECK: &str = "relays";

/// Time limit of a relay.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Advice for a single relay.
const TWO: &str = "list at least two in nostr.relays, of different operators, including those of your users' wallets: \
    what is sent while the only one is away is lost";

pub(super) struct ProbedRelay {
    address: RelayAddress,
    pub(super) outcome: Result<Probed, ProbeError>,
}

/// Connects to all of them concurrently.
pub(super) async fn probe_all(addresses: Vec<RelayAddress>, key: PublicKey) -> Vec<ProbedRelay> {
    let mut probes = JoinSet::new();
    for (place, address) in addresses.into_iter().enumerate() {
        probes.spawn(async move {
            let outcome = probe(&address, key, TIMEOUT).await;
            (place, ProbedRelay { address, outcome })
        });
    }
    let mut probed = probes.join_all().await;
    probed.sort_by_key(|(place, _)| *place);
    probed.into_iter().map(|(_, probed)| probed).collect()
}

/// The running service's view of its relays, by address: whether each is connected, and why not.
pub(super) async fn service_view(service: &Service) -> Option<BTreeMap<String, Option<String>>> {
    let response = service.get("/relays").await.ok()?;
    let relays = response.body["relays"].as_array()?;
    let ours = relays.iter().filter(|relay| relay["origin"] != "user");
    let state = |relay: &Value| {
        let connected = relay["status"] == "connected" && relay["reason"].is_null();
        let reason = relay["reason"].as_str().map(str::to_owned);
        (!connected).then(|| reason.unwrap_or_else(|| "not connected yet".to_owned()))
    };
    Some(ours.filter_map(|relay| Some((relay["relay"].as_str()?.to_owned(), state(relay)))).collect())
}

/// Findings for each relay, and for their number.
pub(super) fn check(
    probed: &[ProbedRelay],
    service_view: Option<&BTreeMap<String, Option<String>>>,
    configured: usize,
    findings: &mut Vec<Finding>,
) {
    let lines: Vec<Finding> = probed.iter().map(|relay| line(relay, service_view)).collect();
    let working = lines.iter().filter(|line| line.state == State::Ok).count();
    findings.extend(lines);
    match (probed.len(), working) {
        (0, _) => findings.push(Finding::fail(CHECK, "the service has no relay: users cannot reach it", TWO)),
        (_, 0) => findings.push(Finding::fail(
            CHECK,
            "no relay works: users cannot reach the service",
            "check the network and DNS of this machine; otherwise list other relays in nostr.relays",
        )),
        // For a configuration with only one, the check of the configuration warns.
        (1, _) if configured > 1 => {
            findings.push(Finding::warn(CHECK, "only one relay is left of those configured", TWO))
        }
        (1, _) => {}
        (_, 1) => findings.push(Finding::warn(CHECK, "only one relay works", "replace the others")),
        _ => {}
    }
}

fn line(relay: &ProbedRelay, service_view: Option<&BTreeMap<String, Option<String>>>) -> Finding {
    let address = &relay.address;
    let replace = "if this persists, replace it in nostr.relays";
    let connected = service_view.and_then(|service_view| service_view.get(address.as_str()));
    match (&relay.outcome, connected) {
        (Ok(probed), None | Some(None)) => {
            let who = if connected.is_some() { "; the service is connected" } else { "" };
            let authentication = if probed.wants_authentication { ", after authentication" } else { "" };
            let took = probed.took.as_millis();
            Finding::ok(CHECK, format!("{address} responds within {took} ms{authentication}{who}"))
        }
        (Ok(_), Some(Some(reason))) => {
            let message = format!("{address} responds from here, but the service reports: {reason}");
            Finding::warn(CHECK, message, "the service retries by itself; if this persists, see its log")
        }
        // Some relays accept a single connection per address.
        (Err(_), Some(None)) => Finding::ok(CHECK, format!("{address}: the service is connected")),
        (Err(error), _) => Finding::warn(CHECK, format!("{address} does not work: {error}"), replace),
    }
}
