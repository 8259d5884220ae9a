//! Checks whether the public address of the pages leads to the running service.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use usher_api::{USHER_CHALLENGE, USHER_PROOF};

use super::finding::Finding;
use super::service::Service;
use crate::config::Config;
use crate::config::setting::WebUrl;
use crate::local_instance::challenge;

const CHECK: &str = "pages";

/// Time limit of the request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A page that does not exist, under a path that every proxy forwards.
const PAGE: &str = "/login/00000000-0000-0000-0000-000000000000";

/// Requests a page there, with a challenge that only the running service can answer.
pub(super) async fn check(config: &Config, service: Option<&Service>, findings: &mut Vec<Finding>) {
    let (Some(url), Some(service)) = (config.pages.public_url.as_ref().map(WebUrl::url), service) else { return };
    let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(TIMEOUT);
    let Ok(client) = client.build() else { return };
    let challenge = challenge();
    let page = format!("{}{PAGE}", url.as_str().trim_end_matches('/'));
    findings.push(match client.get(page).header(USHER_CHALLENGE, &challenge).send().await {
        Ok(response) => {
            let proof = response.headers().get(USHER_PROOF).and_then(|proof| proof.to_str().ok()).unwrap_or_default();
            if service.is_trace(proof, &challenge, response.remote_addr()) {
                Finding::ok(CHECK, format!("{url} leads to this service"))
            } else {
                let message = format!("{url} does not lead to this service (status {})", response.status().as_u16());
                Finding::fail(CHECK, message, "check the name's addresses, the proxy, and pages.public_url (docs/go-live.md)")
            }
        }
        Err(error) => {
            // The causes show the problem with name, certificate or connection.
            let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
            let why = causes.last().map(ToString::to_string).unwrap_or_default();
            let advice = "check the name's addresses, the certificate and the proxy; some networks do not reach their own \
                          public address";
            Finding::warn(CHECK, format!("{url} is not reached from here: {why}"), advice)
        }
    });
}
