//! Checks the Lightning backend, through the running service or directly.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{Clock, Lightning as _, LightningError, SystemClock};
use usher_lightning::nwc::{NwcBackend, NwcOptions};

use super::embedded_lightning;
use super::finding::Finding;
use super::service::Service;
use crate::config::Config;
use crate::config::setting::LnBackend;

const CHECK: &str = "lightning";

/// Time limit for connecting to the wallet's relays.
const CONNECT: Duration = Duration::from_secs(10);

/// How often the connection is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Methods required for payments (NIP-47).
const NEEDED: [&str; 2] = ["make_invoice", "lookup_invoice"];

/// The backend's information about itself.
struct Info {
    alias: Option<String>,
    network: Option<String>,
    /// `None` if unknown.
    methods: Option<Vec<String>>,
    /// Codes and texts of an embedded node's warnings.
    warnings: Vec<(String, String)>,
}

pub(super) async fn check(config: &Config, service: Option<&Service>, findings: &mut Vec<Finding>) {
    if config.wallet.ln_backend == LnBackend::None {
        findings.push(Finding::ok(CHECK, "none is configured: requests that need one are answered 503"));
        return;
    }
    let is_embedded = config.wallet.ln_backend == LnBackend::Embedded;
    if is_embedded {
        embedded_lightning::check(config, findings).await;
    }
    let asked = match service {
        Some(service) => by_service(service).await,
        // The node runs only within the service.
        None if is_embedded => return,
        None => from_here(config).await,
    };
    match asked {
        Ok(info) if is_embedded => findings.extend(embedded_lightning::judge(&info.warnings)),
        Err(reason) if is_embedded => findings.push(Finding::fail(CHECK, reason, "see the log of the service")),
        Ok(info) => findings.extend(judge(config, &info)),
        Err(reason) => findings.push(Finding::fail(
            CHECK,
            reason,
            "is the wallet running, is its relay up, and does the connection still exist there? Logins go on without it",
        )),
    }
}

fn judge(config: &Config, info: &Info) -> Vec<Finding> {
    let name = info.alias.as_ref().map(|alias| format!("{} answers", presentable(alias)));
    let mut findings = vec![Finding::ok(CHECK, name.unwrap_or_else(|| "the wallet answers".to_owned()))];
    let wanted = config.wallet.network.as_str();
    if let Some(network) = info.network.as_deref().filter(|network| *network != wanted) {
        findings.push(Finding::fail(
            CHECK,
            format!("it is on {}, and wallet.network is {wanted}: every invoice is refused", presentable(network)),
            "correct wallet.network, or connect another wallet",
        ));
    }
    // An empty list means that the wallet does not say.
    if let Some(methods) = info.methods.as_ref().filter(|methods| !methods.is_empty()) {
        let missing: Vec<&str> =
            NEEDED.into_iter().filter(|needed| !methods.iter().any(|known| known == needed)).collect();
        if !missing.is_empty() {
            findings.push(Finding::fail(
                CHECK,
                format!("the connection does not permit {}: no payment works", missing.join(" and ")),
                "make a new connection in the wallet that permits it (docs/backends.md)",
            ));
        }
        if !methods.iter().any(|known| known == "pay_invoice") {
            findings.push(Finding::ok(
                CHECK,
                "it is receive-only: POST /invoices/pay from the service's wallet is refused",
            ));
        }
    }
    findings
}

async fn by_service(service: &Service) -> Result<Info, String> {
    let response =
        service.get("/wallet/info").await.map_err(|_| "the service did not say how its wallet is doing".to_owned())?;
    if response.status != StatusCode::OK {
        let detail = response.body["detail"].as_str().unwrap_or("the wallet did not answer");
        return Err(detail.to_owned());
    }
    let text = |name: &str| response.body[name].as_str().map(str::to_owned);
    let warnings = response.body["node"]["warnings"].as_array().into_iter().flatten();
    let warnings = warnings.filter_map(|warning| Some((warning["code"].as_str()?, warning["text"].as_str()?)));
    let warnings = warnings.map(|(code, text)| (code.to_owned(), text.to_owned())).collect();
    Ok(Info { alias: text("alias"), network: text("network"), methods: None, warnings })
}

/// Connects to the wallet like the service, and only queries its information.
async fn from_here(config: &Config) -> Result<Info, String> {
    use secrecy::ExposeSecret as _;

    // Errors must not contain the address, which is a secret.
    let unusable = || "wallet.nwc.url cannot be used".to_owned();
    let url = config.nwc.url.as_ref().ok_or_else(unusable)?.secret().expose_secret();
    let options = NwcOptions::new(url.parse().map_err(|_| unusable())?);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let (wallet, notifications) = NwcBackend::start(options, clock, &tasks, stop.clone()).map_err(|_| unusable())?;
    // Notifications are ignored.
    drop(notifications);
    let connected = tokio::time::timeout(CONNECT, async {
        while !wallet.status().connected {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    });
    let asked = match connected.await {
        Ok(()) => wallet.info().await.map_err(|error| said(&error)),
        Err(_elapsed) => Err(format!("none of the wallet's relays could be reached within {} s", CONNECT.as_secs())),
    };
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    let info = asked?;
    Ok(Info {
        alias: info.alias,
        network: info.network.map(|network| network.as_str().to_owned()),
        methods: Some(info.methods),
        warnings: Vec::new(),
    })
}

fn said(error: &LightningError) -> String {
    match error {
        LightningError::Unknown(_) => "the wallet did not answer".to_owned(),
        error => error.to_string(),
    }
}

/// A wallet's text on one line.
fn presentable(text: &str) -> String {
    usher_protocol::text::clean(text, 64)
}
