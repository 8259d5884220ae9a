//! Checks the age verification provider.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::{Clock, SystemClock};

use super::finding::Finding;
use crate::config::Config;
use crate::config::setting::VerificationProvider;
use crate::service_lifecycle::age_verifier;

const CHECK: &str = "age checks";

/// Time limit of the provider: discovery takes two requests.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Queries the provider without starting a check: OpenID Connect discovery, or a request with the API key.
pub(super) async fn check(config: &Config) -> Finding {
    let section = match config.verification.provider {
        VerificationProvider::Manual => return Finding::ok(CHECK, "your staff decide (verification.provider)"),
        VerificationProvider::Oidc => "verification.oidc",
        VerificationProvider::Remote => "verification.remote",
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let verifier = match age_verifier(config, &clock) {
        Ok(Some(verifier)) => verifier,
        Ok(None) => return Finding::ok(CHECK, "your staff decide"),
        Err(failure) => return Finding::fail(CHECK, failure.to_string(), "correct the configuration"),
    };
    let name = verifier.name().to_owned();
    let problem = match tokio::time::timeout(TIMEOUT, verifier.probe()).await {
        Ok(Ok(())) => return Finding::ok(CHECK, format!("{name} answers ({section})")),
        Ok(Err(error)) => error.to_string(),
        Err(_elapsed) => format!("it does not answer within {} s", TIMEOUT.as_secs()),
    };
    let advice = format!("no user can be checked: check {section}, and whether {name} is up");
    Finding::fail(CHECK, format!("{name}: {problem}"), advice)
}
