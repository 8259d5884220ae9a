//! Queries the running service over its own HTTP interface.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use http::{Method, StatusCode};
use secrecy::SecretString;
use serde_json::Value;

use super::finding::Finding;
use crate::config::Config;
use crate::local_instance::{LocalInstance, Unreached, request};
use crate::version;

const CHECK: &str = "service";

/// Time limit of a request. `GET /wallet/info` waits for the Lightning backend, 30 s at most.
const TIMEOUT: Duration = Duration::from_secs(35);

/// Whether a service of this configuration runs.
pub(super) enum Presence {
    /// It runs and responds.
    Running(Box<Service>),
    /// Nothing listens at its address.
    Absent,
    /// Unknown, or already reported.
    Unknown,
}

impl Presence {
    /// The service, if it can be queried.
    pub(super) fn service(&self) -> Option<&Service> {
        match self {
            Self::Running(service) => Some(service),
            Self::Absent | Self::Unknown => None,
        }
    }
}

pub(super) struct Service {
    instance: LocalInstance,
    token: SecretString,
}

/// A response: its status and its body, `null` if it is not JSON.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Service {
    pub(super) async fn find(config: &Config, data_dir: &Path, findings: &mut Vec<Finding>) -> Presence {
        let instance = LocalInstance::of(config, data_dir);
        let service = Self { instance, token: config.auth.auth_token.secret().clone() };
        let base = match service.instance.connect().await {
            Ok(proved) => format!("http://{}", proved.address),
            Err(why) => {
                let (finding, presence) = unreached(&why);
                findings.push(finding);
                return presence;
            }
        };
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
                return Presence::Running(Box::new(service));
            }
            Ok(Response { status: StatusCode::UNAUTHORIZED, .. }) => Finding::fail(
                CHECK,
                format!("the service at {base} does not accept the configured auth.auth_token"),
                "it runs with another configuration: send it SIGHUP, restart it, or use its --data-dir",
            ),
            Ok(Response { status, .. }) => Finding::fail(
                CHECK,
                format!("the service at {base} answers with status {status}"),
                "see its log and restart it",
            ),
            Err(why) => unreached(&why).0,
        };
        findings.push(finding);
        Presence::Unknown
    }

    /// Whether this service answered the challenge, possibly through proxies.
    pub(super) fn is_trace(&self, proof: &str, challenge: &str, address: Option<SocketAddr>) -> bool {
        self.instance.is_trace(proof, challenge, address)
    }

    pub(super) async fn get(&self, path: &str) -> Result<Response, Unreached> {
        let (status, text) = self.text(path).await?;
        Ok(Response { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) })
    }

    /// The value of a metric without labels.
    pub(super) async fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = self.text("/metrics").await.ok()?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }

    async fn text(&self, path: &str) -> Result<(StatusCode, String), Unreached> {
        let request = request(Method::GET, path, &self.token)?.body(String::new());
        let request = request.map_err(|error| Unreached::Unfit(error.to_string()))?;
        self.instance.call(request, TIMEOUT).await
    }
}

/// The finding for a service that cannot be reached.
fn unreached(why: &Unreached) -> (Finding, Presence) {
    match why {
        Unreached::NoneRuns(whose) => {
            let message = format!("not running {whose}; checking its dependencies from here");
            (Finding::ok(CHECK, message), Presence::Absent)
        }
        Unreached::Another(_) => {
            let advice = "free the port or change info.listen_port; if the service runs there, restart it";
            (Finding::fail(CHECK, why.to_string(), advice), Presence::Unknown)
        }
        Unreached::NoResponse(_) | Unreached::Unfit(_) => {
            (Finding::fail(CHECK, why.to_string(), "see its log and restart it"), Presence::Unknown)
        }
    }
}
