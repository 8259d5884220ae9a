//! The Cashu mints, as far as any are configured.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;

use super::finding::Finding;
use crate::config::Config;

const CHECK: &str = "mints";

/// How long a mint may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks each mint for its information (NUT-06), which is public.
pub(super) async fn check(config: &Config) -> Finding {
    let Some(mint) = &config.verification.mint_url else {
        return Finding::ok(CHECK, "none is configured");
    };
    let origin = mint.url().origin().ascii_serialization();
    let address = format!("{}/v1/info", mint.url().as_str().trim_end_matches('/'));
    let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(PATIENCE).build();
    let Ok(client) = client else { return Finding::ok(CHECK, "not asked: no HTTP client can be made") };
    let advice = "check verification.mint_url, and whether the mint is up";
    match client.get(address).send().await {
        Ok(response) if response.status().is_success() => Finding::ok(CHECK, format!("{origin} answers")),
        Ok(response) => Finding::fail(CHECK, format!("{origin} answers {} to GET /v1/info", response.status()), advice),
        Err(error) if error.is_timeout() => {
            Finding::fail(CHECK, format!("{origin} does not answer within {} s", PATIENCE.as_secs()), advice)
        }
        Err(_) => Finding::fail(CHECK, format!("{origin} cannot be reached"), advice),
    }
}
