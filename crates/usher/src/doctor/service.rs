//! The running service, asked over its own HTTP interface.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::finding::Finding;
use crate::config::Config;
use crate::version;

const CHECK: &str = "service";

/// How long a request may take. `GET /wallet/info` waits for the Lightning backend, 30 s at most.
const TIMEOUT: Duration = Duration::from_secs(35);

/// How long to wait for the service to accept a connection: it is on this machine.
const CONNECT: Duration = Duration::from_secs(5);

/// Whether a service of this configuration runs.
pub(super) enum Presence {
    /// It runs and answers.
    Running(Service),
    /// Nothing listens at its address.
    Absent,
    /// That cannot be told, or has been reported.
    Unknown,
}

impl Presence {
    /// The service, if it can be asked.
    pub(super) fn service(&self) -> Option<&Service> {
        match self {
            Self::Running(service) => Some(service),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// A running service.
pub(super) struct Service {
    base: String,
    token: SecretString,
    client: Client,
}

/// A response: its status and its body, `null` when that is not JSON.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Service {
    /// Looks for the service of this configuration.
    pub(super) async fn find(config: &Config, findings: &mut Vec<Finding>) -> Presence {
        let Some(base) = config.info.base_url() else {
            let message = "info.listen_port is 0 (any free port): a running service cannot be found";
            findings.push(Finding::ok(CHECK, message));
            return Presence::Unknown;
        };
        let client = Client::builder().no_proxy().redirect(Policy::none()).connect_timeout(CONNECT).timeout(TIMEOUT);
        let Ok(client) = client.build() else { return Presence::Unknown };
        let service = Self { base, token: config.auth.auth_token.secret().clone(), client };
        let base = &service.base;
        let finding = match service.get("/version").await {
            Ok(Response { status: StatusCode::OK, body }) if body["version"].is_string() => {
                let running = body["version"].as_str().unwrap_or_default();
                let same = running == version::VERSION && body["commit"] == version::COMMIT;
                let finding = if same {
                    Finding::ok(CHECK, format!("running at {base}, version {running}"))
                } else {
                    let message =
                        format!("the service at {base} is another build (version {running}) than this program");
                    Finding::warn(CHECK, message, "restart the service after an upgrade")
                };
                findings.push(finding);
                return Presence::Running(service);
            }
            Ok(Response { status: StatusCode::UNAUTHORIZED, .. }) => Finding::fail(
                CHECK,
                format!("the service at {base} does not accept the configured auth.auth_token"),
                "it runs with another configuration: send it SIGHUP, restart it, or use its --data-dir",
            ),
            Ok(Response { status, .. }) => Finding::fail(
                CHECK,
                format!("another program responds at {base} (status {status})"),
                "free the port, or change info.listen_port",
            ),
            Err(error) if error.is_connect() => {
                findings
                    .push(Finding::ok(CHECK, format!("not running at {base}; checking its dependencies from here")));
                return Presence::Absent;
            }
            Err(_) => Finding::fail(
                CHECK,
                format!("the service at {base} accepts connections but does not respond"),
                "see its log and restart it",
            ),
        };
        findings.push(finding);
        Presence::Unknown
    }

    /// A request. The error's text may hold the address, and nothing else of the configuration.
    pub(super) async fn get(&self, path: &str) -> Result<Response, reqwest::Error> {
        let request = self.client.get(format!("{}{path}", self.base)).bearer_auth(self.token.expose_secret());
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        Ok(Response { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) })
    }

    /// The value of a metric without labels.
    pub(super) async fn metric(&self, name: &str) -> Option<f64> {
        let request = self.client.get(format!("{}/metrics", self.base)).bearer_auth(self.token.expose_secret());
        let text = request.send().await.ok()?.text().await.ok()?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}
