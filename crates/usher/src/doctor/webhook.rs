//! Checks the app's webhook: whether it is reachable, and the state of deliveries. Posts no event.

use std::time::Duration;

use serde_json::Value;
use url::Url;
use usher_store::Inspection;
use usher_webhooks::probe;

use super::finding::Finding;
use super::service::Service;
use crate::config::Config;
use crate::config::setting::crosses_network_in_clear;

const CHECK: &str = "webhook";

/// Time limit for connecting to the receiver.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Advice for given-up deliveries.
const RETRY: &str = "GET /webhooks/deliveries?status=failed lists them with the reason, POST /webhooks/deliveries/{id}/retry posts \
    one again";

/// Checks whether the receiver accepts a connection.
pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) {
    let webhook = &config.webhook;
    let Some(configured) = &webhook.url else {
        findings.push(Finding::ok(CHECK, "not configured; the app polls for events"));
        return;
    };
    // Validated when it was read.
    let Ok(url) = configured.expose().parse::<Url>() else { return };
    let origin = url.origin().ascii_serialization();
    findings.push(match probe(&url, TIMEOUT).await {
        Ok(()) => Finding::ok(CHECK, format!("{origin} accepts connections")),
        Err(error) => {
            let advice = "start the receiver or correct webhook.url; deliveries are retried for three days";
            Finding::fail(CHECK, format!("{origin} cannot be reached: {error}"), advice)
        }
    });
    if webhook.secret.is_none() {
        let message = "deliveries are unsigned: the receiver cannot detect forged ones";
        findings.push(Finding::warn(CHECK, message, "set webhook.secret and verify the signatures (docs/webhooks.md)"));
    }
    if crosses_network_in_clear(&url) {
        let message = "events are posted unencrypted to another machine";
        findings.push(Finding::warn(CHECK, message, "use https"));
    }
}

/// Failed deliveries, from the running service or else the database.
pub(super) async fn deliveries(
    service: Option<&Service>,
    database: Option<&dyn Inspection>,
    findings: &mut Vec<Finding>,
) {
    if let Some(reason) = last_failure(service).await {
        let message = format!("deliveries are pending; last error: {reason}");
        findings.push(Finding::warn(CHECK, message, "the service retries by itself; see the receiver's log"));
    }
    let Some(database) = database else { return };
    let Ok(counts) = database.deliveries().await else { return };
    if counts.failed > 0 {
        findings.push(Finding::fail(CHECK, format!("{} deliveries were given up", counts.failed), RETRY));
    }
}

/// Why the last attempt of the first pending delivery failed.
async fn last_failure(service: Option<&Service>) -> Option<String> {
    let response = service?.get("/webhooks/deliveries?status=pending&limit=1").await.ok()?;
    let first = response.body["deliveries"].as_array()?.first()?.clone();
    first["last_error"].as_str().map(str::to_owned).filter(|_| first != Value::Null)
}
